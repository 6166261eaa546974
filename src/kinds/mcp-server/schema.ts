import { workload } from '../parts.ts'

/** Section 1. */
export const MCPServer = workload('MCPServer', 'A backend MCP server.')
