import { defineRule, invalid, isAbsent, isLoopback, must, parseUrl } from '../../../rule/index.ts'
import { compilePattern, PATTERNS } from '../../patterns.ts'
import type { Server } from '../effective.ts'
import { server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const ISSUER = compilePattern(PATTERNS.issuer.ecmaScript)

export const authServerUrlHttpsOrLoopback = defineRule({
  id: 'auth-server-url-https-or-loopback',
  on: EmbeddedAuthServer,
  severity: 'error',
  summary:
    'The issuer and the authorization base URL have a host and use https; plain http is for loopback hosts.',
  why: 'Over http anyone on the path can read authorization codes and tokens; the server refuses to start.',
  sources: [
    must('2.4.3', 'issuer is an HTTPS URL; HTTP is allowed for localhost.'),
    must('2.4.3', 'authorizationEndpointBaseUrl follows the same URL rules and pattern.'),
    'decision 3',
    'decision 13',
  ],
  *check(server, { path }) {
    for (const field of ['issuer', 'authorizationEndpointBaseUrl'] as const) {
      const text = server[field]
      if (text === undefined) continue
      const problem = problemOf(text, server)
      if (problem !== undefined && ISSUER.test(text)) yield invalid(path[field], text, problem)
    }
  },
  policy: {
    expression: `
      ['issuer', 'authorizationEndpointBaseUrl'].map(field, self[?field].orValue('')).all(text,
        !text.matches(r'${PATTERNS.issuer.specification}') ||
        isURL(text) && [url(text).getHostname()].all(host,
          host != '' && (
            text.startsWith('https://') ||
            self.?insecureAllowHTTP.orValue(false) == true ||
            host.lowerAscii() in ['localhost', '::1'] ||
            host.matches(r'^127([.](25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){3}$'))))`,
  },
  examples: {
    'https URLs': { value: { ...server, authorizationEndpointBaseUrl: 'https://login.example.com/mcp' } },
    'http on loopback hosts': {
      value: {
        ...server,
        issuer: 'http://LocalHost:8080/auth',
        authorizationEndpointBaseUrl: 'http://[::1]:8080',
      },
    },
    'http elsewhere, with the alternative of newer releases': {
      value: { ...server, issuer: 'http://auth.internal', insecureAllowHTTP: true },
    },
    'http on other hosts': {
      value: {
        ...server,
        issuer: 'http://auth.example.com',
        authorizationEndpointBaseUrl: 'http://127.1:8080',
      },
      findings: [
        'issuer: Invalid value: "http://auth.example.com": must start with \'https://\' unless the host is loopback',
        'authorizationEndpointBaseUrl: Invalid value: "http://127.1:8080": must start with \'https://\' unless the host is loopback',
      ],
    },
    'no host, or a host that cannot be told': {
      value: {
        ...server,
        issuer: 'https:///auth',
        authorizationEndpointBaseUrl: String.raw`http://127.0.0.1\@login.example.com`,
      },
      findings: [
        'issuer: Invalid value: "https:///auth": must be a URL with a host, such as \'https://auth.example.com\'',
        'authorizationEndpointBaseUrl: Invalid value: "http://***@login.example.com": must be a valid URL; check its host, port and escapes',
      ],
    },
  },
})

/**
 * The problem of a URL; undefined when it has none. http is allowed when `insecureAllowHTTP` is true or has a wrong
 * JSON type.
 */
function problemOf(text: string, server: Server): string | undefined {
  const url = parseUrl(text)
  if (url === undefined) return 'must be a valid URL; check its host, port and escapes'
  if (url.host === '') return "must be a URL with a host, such as 'https://auth.example.com'"
  if (url.scheme === 'https' || isLoopback(url.host) || mayAllowHttp(server)) return undefined
  return "must start with 'https://' unless the host is loopback"
}

function mayAllowHttp(server: Server): boolean {
  return !isAbsent(server, 'insecureAllowHTTP') && (server.insecureAllowHTTP ?? true)
}
