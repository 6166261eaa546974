import { newer, oneOf } from '../fields.ts'
import { allowPrivateEndpoint, caBundleRef, headerForward, remoteUrl } from '../newer-parts.ts'
import { workload } from '../parts.ts'

/** Specification, section 1. */
export const MCPServerEntry = workload(
  'MCPServerEntry',
  {
    remoteUrl,
    allowPrivateEndpoint,
    headerForward: newer(headerForward),
    caBundleRef: newer(caBundleRef),
    transport: newer(oneOf(['streamable-http', 'sse'], 'How vMCP talks to the server.')),
  },
  'A remote MCP server that vMCP reaches directly.',
)
