import { workload } from '../parts.ts'

/** Section 1. */
export const MCPRemoteProxy = workload('MCPRemoteProxy', 'A proxy in front of a remote MCP server.')
