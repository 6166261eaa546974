import { flag, newer, oneOf, text } from '../fields.ts'
import { allowPrivateEndpoint, headerForward, OF_PROXIES, remoteUrl, SESSIONS } from '../newer-parts.ts'
import { workload } from '../parts.ts'

/** The schema of an MCPRemoteProxy (section 1 of the specification). */
export const MCPRemoteProxy = workload(
  'MCPRemoteProxy',
  {
    ...OF_PROXIES,
    ...SESSIONS('0.30'),
    remoteUrl,
    allowPrivateEndpoint,
    headerForward: newer(headerForward),
    transport: newer(oneOf(['streamable-http', 'sse'], 'How the proxy talks to the server.')),
    endpointPrefix: newer(text('Path before the endpoints.')),
    trustProxyHeaders: newer(flag('Believes the X-Forwarded headers of requests.')),
  },
  'A proxy in front of a remote MCP server.',
)
