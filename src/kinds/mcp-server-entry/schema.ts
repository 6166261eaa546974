import { workload } from '../parts.ts'

/** Section 1. */
export const MCPServerEntry = workload('MCPServerEntry', 'A remote MCP server that vMCP reaches directly.')
