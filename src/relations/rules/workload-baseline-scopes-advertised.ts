import {
  advice,
  type Cluster,
  defineRule,
  end,
  namesText,
  nameText,
  oncePerCluster,
  relatedTo,
  shortQuote,
} from '../../rule/index.ts'
import { advertisedScopes } from '../../kinds/embedded-auth-server/advertised-scopes.ts'
import type { Server } from '../../kinds/embedded-auth-server/effective.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  authServer,
  type HeldServer,
  heldServersOf,
  ofHolders,
  otherOf,
  serving,
  SINGLE_PROVIDER_KINDS,
  WORKLOAD,
} from '../index.ts'

const ID = 'workload-baseline-scopes-advertised'
const SCOPES = WORKLOAD.spec.oidcConfigRef.scopes

/** The first scopes of `baselineClientScopes` that the workload does not advertise, quoted. */
function missingIn({ workload, server }: HeldServer, cluster: Cluster): string[] {
  const reference = workload.spec?.oidcConfigRef
  const given = reference && advertisedScopes(reference)
  if (given === undefined) return []
  const advertised = new Set<string | undefined>(given)
  const missing: string[] = []
  // Ends early: one server may have many scopes, and many workloads that name it.
  for (const scope of baselineOf(server, cluster)) {
    if (advertised.has(scope)) continue
    missing.push(shortQuote(scope ?? ''))
    if (missing.length === 3) break
  }
  return missing
}

const baselineOf = oncePerCluster((server: Server) => new Set(server.baselineClientScopes))

/** A proxy that advertises these scopes of the server `example`. */
const advertising = (...scopes: string[]) =>
  otherOf('MCPRemoteProxy', 'wiki', {
    authServerRef: { kind: 'MCPExternalAuthConfig', name: 'example' },
    oidcConfigRef: { name: 'corporate', audience: 'https://auth.example.com/mcp', scopes },
  })

const withBaseline = (...baselineClientScopes: string[]) =>
  otherOf('MCPExternalAuthConfig', 'auth', {
    type: 'embeddedAuthServer' as const,
    embeddedAuthServer: { ...authServer('okta'), baselineClientScopes },
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
      const missing = missingIn(held, cluster)
      return missing.length === 0 ? [] : [{ ...held, missing }]
    })
    if (self.kind === 'MCPExternalAuthConfig') {
      for (const [scopes, held] of Map.groupBy(lacking, ({ missing }) => missing.join(', '))) {
        const holders = held.map(({ holder }) => holder)
        const warning = advice(
          AUTH_CONFIG.spec.embeddedAuthServer.baselineClientScopes,
          `has ${scopes}, which oidcConfigRef.scopes of ${namesText(holders, 2)} lacks: the server does not start there; add them there or remove them here`,
        )
        yield ofHolders(warning, { holders, at: SCOPES, text: `lacks ${scopes}`, cause: [ID, self.name] })
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
    'scopes that are advertised without being given': {
      kind: 'MCPServer',
      value: serving({}),
      others: [withBaseline('openid', 'offline_access')],
    },
    'a scope that is given': {
      kind: 'MCPRemoteProxy',
      value: serving({ scopes: ['openid', 'jira.read'] }),
      others: [withBaseline('jira.read')],
    },
    'a scope that each workload advertises': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: withBaseline('jira.read').spec },
      others: [advertising('openid', 'jira.read')],
    },
    'a scope that is not advertised': {
      kind: 'MCPServer',
      value: serving({ scopes: ['openid'] }),
      others: [withBaseline('openid', 'offline_access')],
      findings:
        'spec.oidcConfigRef.scopes: lacks "offline_access" of baselineClientScopes of MCPExternalAuthConfig "auth": the server does not start; add them here or remove them there',
    },
    'a scope that a workload does not advertise': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: withBaseline('jira.read').spec },
      others: [advertising('openid')],
      findings:
        'spec.embeddedAuthServer.baselineClientScopes: has "jira.read", which oidcConfigRef.scopes of MCPRemoteProxy "wiki" lacks: the server does not start there; add them there or remove them here',
    },
  },
})
