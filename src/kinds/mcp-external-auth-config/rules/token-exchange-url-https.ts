import { advice, defineRule, isLoopback, must, parseUrl } from '../../../rule/index.ts'
import { exchanging } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const tokenExchangeUrlHttps = defineRule({
  id: 'token-exchange-url-https',
  on: MCPExternalAuthConfig,
  needs: ['tokenExchange'],
  severity: 'warning',
  summary: 'The token endpoint is reached over https, or on the same machine.',
  why: 'Tokens and the client secret cross the network in the clear.',
  sources: [must('2.4.5', 'tokenUrl is the token endpoint.'), 'decision 21'],
  *check({ spec }, { path }) {
    const { tokenUrl } = spec?.tokenExchange ?? {}
    if (tokenUrl === undefined) return
    const url = parseUrl(tokenUrl)
    if (url?.scheme !== 'http' || url.host === '' || isLoopback(url.host)) return
    yield advice(path.spec.tokenExchange.tokenUrl, "sends tokens in the clear; use 'https://'")
  },
  examples: {
    https: { value: exchanging({ tokenUrl: 'https://idp.example.com/token' }) },
    'a proxy in the same pod': { value: exchanging({ tokenUrl: 'http://localhost:8080/token' }) },
    'http to another host': {
      value: exchanging({ tokenUrl: 'http://idp.example.com/token' }),
      findings: "spec.tokenExchange.tokenUrl: sends tokens in the clear; use 'https://'",
    },
  },
})
