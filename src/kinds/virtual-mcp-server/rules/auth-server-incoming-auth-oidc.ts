import { about, advice, defineRule, isAbsent, must } from '../../../rule/index.ts'
import { embedded, server } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const authServerIncomingAuthOidc = defineRule({
  id: 'auth-server-incoming-auth-oidc',
  on: VirtualMCPServer,
  needs: ['authServerConfig'],
  severity: 'warning',
  summary: 'Beside an embedded authorization server, incoming authentication is of type `oidc`.',
  why: 'Nobody checks the tokens that the embedded server issues, so no upstream token of the caller is found.',
  failure: {
    symptom: 'the VirtualMCPServer stays Failed: `embedded auth server requires OIDC incoming auth`',
    reportedBy: 'operator',
    consequence: 'does not start',
  },
  sources: [
    must(
      '5.1',
      'With the embedded authorization server incomingAuth must validate the JWTs it issues: oidcConfigRef and audience.',
    ),
    'decision 21',
  ],
  *check({ spec }, { path }) {
    if (!spec?.authServerConfig) return
    const type = spec.incomingAuth?.type
    if (type === undefined ? !isAbsent(spec, 'incomingAuth') : type === 'oidc') return
    yield about(
      advice(
        path.spec.authServerConfig,
        "issues tokens that `incomingAuth` does not check, so the VirtualMCPServer stays Failed; set `incomingAuth.type` to 'oidc' with the same issuer",
      ),
      'auth-server-incoming-auth-oidc',
      type ?? '',
    )
  },
  examples: {
    OIDC: { value: server({ authServerConfig: embedded }) },
    'no embedded server': { value: server({ incomingAuth: { type: 'anonymous' } }) },
    'no authentication': {
      value: server({ authServerConfig: embedded, incomingAuth: { type: 'anonymous' } }),
      findings:
        "spec.authServerConfig: issues tokens that `incomingAuth` does not check, so the VirtualMCPServer stays Failed; set `incomingAuth.type` to 'oidc' with the same issuer",
    },
    'nothing about clients': {
      value: { spec: { groupRef: { name: 'tools' }, authServerConfig: embedded } },
      findings:
        "spec.authServerConfig: issues tokens that `incomingAuth` does not check, so the VirtualMCPServer stays Failed; set `incomingAuth.type` to 'oidc' with the same issuer",
    },
  },
})
