import { flag, newer, oneOf, text } from '../fields.ts'
import { OF_PROXIES, SESSIONS } from '../newer-parts.ts'
import { workload } from '../parts.ts'

/** The fields of an MCPServer (section 1 of the specification). */
export const MCPServer = workload(
  'MCPServer',
  {
    ...OF_PROXIES,
    ...SESSIONS(),
    transport: newer(oneOf(['stdio', 'streamable-http', 'sse'], 'How the proxy talks to the server.')),
    endpointPrefix: newer(text('Path before the endpoints.')),
    trustProxyHeaders: newer(flag('Believes the X-Forwarded headers of requests.')),
  },
  'A backend MCP server.',
)
