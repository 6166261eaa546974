import { advice, defineRule, must, parseUrl } from '../../../rule/index.ts'
import { exchanging } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const tokenExchangeUrlAbsolute = defineRule({
  id: 'token-exchange-url-absolute',
  on: MCPExternalAuthConfig,
  needs: ['tokenExchange'],
  severity: 'warning',
  summary: 'The token endpoint is an absolute http or https URL with a host.',
  why: 'There is no server that the exchange could be sent to.',
  sources: [must('2.4.5', 'tokenUrl is the token endpoint.'), 'decision 13'],
  *check({ spec }, { path }) {
    const tokenUrl = spec?.tokenExchange?.tokenUrl
    if (!tokenUrl) return
    const url = parseUrl(tokenUrl)
    if ((url?.scheme === 'https' || url?.scheme === 'http') && url.host !== '') return
    yield advice(
      path.spec.tokenExchange.tokenUrl,
      "must be an https URL with a host, such as 'https://idp.example.com/token', or every exchange fails",
    )
  },
  examples: {
    'a URL': { value: exchanging({ tokenUrl: 'https://idp.example.com/token' }) },
    'no scheme': {
      value: exchanging({ tokenUrl: 'idp.example.com/token' }),
      findings:
        "spec.tokenExchange.tokenUrl: must be an https URL with a host, such as 'https://idp.example.com/token', or every exchange fails",
    },
    'no host': {
      value: exchanging({ tokenUrl: 'https:///token' }),
      findings:
        "spec.tokenExchange.tokenUrl: must be an https URL with a host, such as 'https://idp.example.com/token', or every exchange fails",
    },
  },
})
