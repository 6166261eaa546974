import { advice, defineRule, must, parseUrl } from '../../../rule/index.ts'
import { compilePattern, PATTERNS } from '../../patterns.ts'
import { server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const ISSUER = compilePattern(PATTERNS.issuer.ecmaScript)

export const authServerUrlWithoutUserInfo = defineRule({
  id: 'auth-server-url-without-user-info',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'The issuer and the authorization base URL hold no user name or password.',
  why: 'Both are public: they stand in the discovery document, the issuer in every token. The server refuses to start.',
  sources: [must('2.4.3', 'issuer is an HTTPS URL; HTTP is allowed for localhost.'), 'decision 13'],
  *check(server, { path }) {
    for (const field of ['issuer', 'authorizationEndpointBaseUrl'] as const) {
      const text = server[field]
      if (text === undefined || !parseUrl(text)?.hasUserInfo || !ISSUER.test(text)) continue
      yield advice(
        path[field],
        "remove the user information before the '@', or the authorization server does not start",
      )
    }
  },
  examples: {
    'a plain issuer': { value: server },
    'user information in both': {
      value: {
        ...server,
        issuer: 'https://admin@auth.example.com',
        authorizationEndpointBaseUrl: 'https://admin:hunter2@login.example.com',
      },
      findings: [
        "issuer: remove the user information before the '@', or the authorization server does not start",
        "authorizationEndpointBaseUrl: remove the user information before the '@', or the authorization server does not start",
      ],
    },
  },
})
