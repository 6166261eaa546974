import { advice, defineRule, must, says } from '../../../rule/index.ts'
import { exchanging, injecting } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

/** An HTTP field name (RFC 9110, section 5.1). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

export const headerInjectionNameIsToken = defineRule({
  id: 'header-injection-name-is-token',
  on: MCPExternalAuthConfig,
  needs: ['headerInjection', 'tokenExchange'],
  severity: 'warning',
  summary: 'The name of a header that is set is one that HTTP allows, a token of RFC 9110.',
  why: 'Every request to the backend fails, because the header cannot be written.',
  sources: [
    must('2.4.4', 'headerName is required and not empty: the header to inject.'),
    says('2.4.5', 'externalTokenHeaderName is the header for the token; empty or unset: Authorization.'),
    'decision 21',
  ],
  *check({ spec }, { path }) {
    const { headerInjection, tokenExchange } = spec ?? {}
    if (isNoToken(headerInjection?.headerName)) yield advice(path.spec.headerInjection.headerName, DETAIL)
    if (isNoToken(tokenExchange?.externalTokenHeaderName)) {
      yield advice(path.spec.tokenExchange.externalTokenHeaderName, DETAIL)
    }
  },
  examples: {
    'an injected header': { value: injecting('X-Api-Key') },
    'a header for the exchanged token': { value: exchanging({ externalTokenHeaderName: 'X-Backend-Token' }) },
    'a name with a colon': {
      value: injecting('X-Api-Key:'),
      findings:
        "spec.headerInjection.headerName: is not the name of an HTTP header, so requests with it fail; use letters, digits and '-', such as 'X-Api-Key'",
    },
    'a name with a space for the exchanged token': {
      value: exchanging({ externalTokenHeaderName: 'Backend Token' }),
      findings:
        "spec.tokenExchange.externalTokenHeaderName: is not the name of an HTTP header, so requests with it fail; use letters, digits and '-', such as 'X-Api-Key'",
    },
  },
})

const DETAIL =
  "is not the name of an HTTP header, so requests with it fail; use letters, digits and '-', such as 'X-Api-Key'"

/** Whether a header name is not valid. False for an empty name: the schema refuses it, or it means the default. */
function isNoToken(name = ''): boolean {
  return name !== '' && !TOKEN.test(name)
}
