import {
  aboutEach,
  advice,
  defineRule,
  end,
  isAbsent,
  namesText,
  nameText,
  relatedTo,
  shortQuote,
} from '../../rule/index.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  authServer,
  type HeldServer,
  heldServersOf,
  serving,
  SINGLE_PROVIDER_KINDS,
  WORKLOAD,
} from '../index.ts'

const DEFAULT_SCOPES = ['openid', 'profile', 'email', 'offline_access']

const ID = 'workload-baseline-scopes-advertised'
const SCOPES = WORKLOAD.spec.oidcConfigRef.scopes

/** The first scopes of `baselineClientScopes` that the workload does not advertise, quoted. */
function missingIn({ workload, server }: HeldServer): string[] {
  const reference = workload.spec?.oidcConfigRef
  if (reference === undefined) return []
  const given = isAbsent(reference, 'scopes') ? [] : reference.scopes
  if (given === undefined || given.includes(undefined)) return []
  const advertised = new Set<string | undefined>(given.length === 0 ? DEFAULT_SCOPES : given)
  const missing = (server.baselineClientScopes ?? []).filter((scope) => !advertised.has(scope))
  return missing.slice(0, 3).map((scope) => shortQuote(scope ?? ''))
}

/** A proxy that advertises these scopes of the server `example`. */
const advertising = (...scopes: string[]) => ({
  kind: 'MCPRemoteProxy',
  metadata: { name: 'wiki' },
  spec: {
    authServerRef: { kind: 'MCPExternalAuthConfig', name: 'example' },
    oidcConfigRef: { name: 'corporate', audience: 'https://auth.example.com/mcp', scopes },
  },
})

const withBaseline = (...baselineClientScopes: string[]) => ({
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'auth' },
  spec: {
    type: 'embeddedAuthServer' as const,
    embeddedAuthServer: { ...authServer('okta'), baselineClientScopes },
  },
})

export const workloadBaselineScopesAdvertised = defineRule({
  id: ID,
  on: [MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  needs: ['oidcConfigRef', 'embeddedAuthServer'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
  severity: 'warning',
  summary:
    '`oidcConfigRef.scopes` of a workload has every `baselineClientScopes` of the authorization server that it names.',
  why: 'The authorization server does not start with a baseline scope that it does not advertise; the workload is in a crash loop, and its status does not say why.',
  failure: {
    symptom: 'CrashLoopBackOff; the log says that `baseline_client_scopes` are not in the supported scopes',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: 'from 0.27 on',
    threads: ['stacklok/toolhive#5252', 'stacklok/toolhive#5233'],
  },
  sources: ['decision 3'],
  *check(resource, { cluster, self }) {
    const lacking = heldServersOf(resource, self, cluster).flatMap((held) => {
      const missing = missingIn(held)
      return missing.length === 0 ? [] : [{ ...held, missing }]
    })
    if (self.kind === 'MCPExternalAuthConfig') {
      for (const [scopes, held] of Map.groupBy(lacking, ({ missing }) => missing.join(', '))) {
        const holders = held.map(({ holder }) => holder)
        const warning = advice(
          AUTH_CONFIG.spec.embeddedAuthServer.baselineClientScopes,
          `has ${scopes}, which oidcConfigRef.scopes of ${namesText(holders, 2)} lacks: the server does not start there; add them there or remove them here`,
        )
        yield relatedTo(
          aboutEach(warning, () => holders.map(({ kind, name }) => [ID, kind, name])),
          holders.slice(0, 4).map((holder) => end(holder, SCOPES, `lacks ${scopes}`)),
          () => [[ID, self.name]],
        )
      }
      return
    }
    for (const { to, missing } of lacking) {
      const scopes = missing.join(', ')
      yield relatedTo(
        advice(
          SCOPES,
          `lacks ${scopes} of baselineClientScopes of ${nameText(to)}: the server does not start; add them here or remove them there`,
        ),
        [end(to, AUTH_CONFIG.spec.embeddedAuthServer.baselineClientScopes, `has ${scopes}`)],
        () => [[ID, to.name]],
      )
    }
  },
  examples: {
    valid: [
      {
        title: 'scopes that are advertised without being given',
        kind: 'MCPServer',
        value: serving({}),
        others: [withBaseline('openid', 'offline_access')],
      },
      {
        title: 'a scope that is given',
        kind: 'MCPRemoteProxy',
        value: serving({ scopes: ['openid', 'jira.read'] }),
        others: [withBaseline('jira.read')],
      },
      {
        title: 'a scope that each workload advertises',
        kind: 'MCPExternalAuthConfig',
        value: { spec: withBaseline('jira.read').spec },
        others: [advertising('openid', 'jira.read')],
      },
    ],
    invalid: [
      {
        title: 'a scope that is not advertised',
        kind: 'MCPServer',
        value: serving({ scopes: ['openid'] }),
        others: [withBaseline('openid', 'offline_access')],
        findings: [
          'spec.oidcConfigRef.scopes: lacks "offline_access" of baselineClientScopes of MCPExternalAuthConfig "auth": the server does not start; add them here or remove them there',
        ],
      },
      {
        title: 'a scope that a workload does not advertise',
        kind: 'MCPExternalAuthConfig',
        value: { spec: withBaseline('jira.read').spec },
        others: [advertising('openid')],
        findings: [
          'spec.embeddedAuthServer.baselineClientScopes: has "jira.read", which oidcConfigRef.scopes of MCPRemoteProxy "wiki" lacks: the server does not start there; add them there or remove them here',
        ],
      },
    ],
  },
})
