import {
  aboutEach,
  advice,
  type Cluster,
  defineRule,
  end,
  type FieldError,
  namesText,
  type ObjectName,
  oncePerCluster,
  type Path,
  pathTo,
  relatedTo,
  shortQuote,
} from '../../rule/index.ts'
import { MCPOIDCConfig, MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  type Gateway,
  gateway,
  gatewayOf,
  getOidcConfig,
  oidcConfig,
  OIDC_CONFIG,
  type OidcConfig,
  oidcReferenceOf,
  oidcReferencePath,
  otherOf,
  type Workload,
} from '../index.ts'

const ID = 'audience-unique'
const KINDS: readonly string[] = ['MCPRemoteProxy', 'MCPServer', 'VirtualMCPServer']
/** The most MCPOIDCConfigs whose issuers are compared with the issuer of the MCPOIDCConfig that the server uses. */
const MOST_CONFIGS = 50
/** The most audiences of an MCPOIDCConfig that get a finding. */
const MOST_AUDIENCES = 5

const checking = (kind: string, name: string, audience: string, config = 'corporate') =>
  otherOf(kind, name, { oidcConfigRef: { name: config, audience } })
const own = (audience: string) =>
  gatewayOf({ incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate', audience } } })

const INLINE = { spec: { type: 'inline' as const, inline: { issuer: 'https://auth.example.com' } } }

export const audienceUnique = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPOIDCConfig],
  needs: ['incomingAuth', 'oidcConfigRef', 'type'],
  reads: ['MCPOIDCConfig', ...KINDS],
  severity: 'warning',
  summary: 'No two servers accept tokens of one issuer for one audience.',
  why: 'A token that a user gets for one of the servers opens the other one too, also when it was sent to a server that somebody else runs.',
  failure: {
    symptom: 'none: a token for one server is accepted by another one',
    reportedBy: 'nobody',
    consequence: 'lets anyone in',
  },
  sources: ['decision 3', 'decision 21'],
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPOIDCConfig') {
      yield* sharedBy(self.name, resource as OidcConfig, cluster)
      return
    }
    const found = acceptedBy(resource as Gateway | Workload, self.kind)
    if (found === undefined) return
    const config = getOidcConfig(cluster, found.config)
    const configs = [found.config, ...(config === undefined ? [] : sameIssuer(found.config, config, cluster))]
    const others = configs
      .flatMap((name) => acceptingBy(name, cluster).get(found.audience) ?? [])
      .filter(({ kind, name }) => kind !== self.kind || name !== self.name)
    if (others.length === 0) return
    const detail = `${shortQuote(found.audience)} is the audience of ${namesText(others)} too, for tokens of one issuer: a token for one opens the other; give each its own`
    yield relatedTo(
      aboutEach(advice(found.at, detail), () => others.map(({ kind, name }) => [ID, kind, name] as const)),
      others.slice(0, 4).map((other) => end(other, placeIn(other.kind), 'has the same audience')),
      () => [[ID, found.config, found.audience]],
    )
  },
  examples: {
    'an audience for each': {
      kind: 'VirtualMCPServer',
      value: own('tools'),
      others: [oidcConfig('corporate'), checking('MCPServer', 'jira', 'jira')],
    },
    'one audience, and two issuers': {
      kind: 'VirtualMCPServer',
      value: own('tools'),
      others: [
        oidcConfig('corporate'),
        oidcConfig('partner', 'https://login.partner.example'),
        checking('MCPServer', 'jira', 'tools', 'partner'),
      ],
    },
    'one audience, and another issuer in the configuration': {
      kind: 'MCPOIDCConfig',
      value: INLINE,
      others: [
        oidcConfig('partner', 'https://login.partner.example'),
        checking('MCPServer', 'jira', 'tools', 'partner'),
        checking('MCPRemoteProxy', 'wiki', 'tools', 'example'),
      ],
    },
    'one audience of one issuer': {
      kind: 'VirtualMCPServer',
      value: own('tools'),
      others: [oidcConfig('corporate'), checking('MCPServer', 'jira', 'tools')],
      findings:
        'spec.incomingAuth.oidcConfigRef.audience: "tools" is the audience of MCPServer "jira" too, for tokens of one issuer: a token for one opens the other; give each its own',
    },
    'the same by two configurations with one issuer': {
      kind: 'MCPRemoteProxy',
      value: { spec: { oidcConfigRef: { name: 'corporate', audience: 'tools' } } },
      others: [oidcConfig('corporate'), oidcConfig('again'), checking('MCPServer', 'jira', 'tools', 'again')],
      findings:
        'spec.oidcConfigRef.audience: "tools" is the audience of MCPServer "jira" too, for tokens of one issuer: a token for one opens the other; give each its own',
    },
    'the audience of the gateway in front': {
      kind: 'MCPServer',
      value: { spec: { oidcConfigRef: { name: 'corporate', audience: 'tools' } } },
      others: [oidcConfig('corporate'), gateway('tools', own('tools').spec)],
      findings:
        'spec.oidcConfigRef.audience: "tools" is the audience of VirtualMCPServer "tools" too, for tokens of one issuer: a token for one opens the other; give each its own',
    },
    'a configuration that gets the issuer of another one': {
      kind: 'MCPOIDCConfig',
      value: INLINE,
      others: [
        oidcConfig('corporate'),
        checking('MCPServer', 'jira', 'tools'),
        checking('MCPRemoteProxy', 'wiki', 'tools', 'example'),
      ],
      findings:
        'spec.inline.issuer: "tools" is the audience of MCPRemoteProxy "wiki" and MCPServer "jira", for tokens of one issuer: a token for one opens the other; give each its own',
    },
  },
})

/** The findings at an MCPOIDCConfig: audiences of its servers that are also those of other servers of its issuer. */
function* sharedBy(name: string, config: OidcConfig, cluster: Cluster): Iterable<FieldError> {
  const configs = [name, ...sameIssuer(name, config, cluster)]
  const place = config.spec?.type === 'inline' ? OIDC_CONFIG.spec.inline.issuer : OIDC_CONFIG.spec.type
  let left = MOST_AUDIENCES
  for (const audience of acceptingBy(name, cluster).keys()) {
    const servers = configs.flatMap((each) => acceptingBy(each, cluster).get(audience) ?? [])
    if (servers.length < 2) continue
    if (left-- === 0) return
    const detail = `${shortQuote(audience)} is the audience of ${namesText(servers)}, for tokens of one issuer: a token for one opens the other; give each its own`
    yield relatedTo(
      aboutEach(advice(place, detail), () => servers.map(({ kind, name }) => [ID, kind, name] as const)),
      servers.slice(0, 4).map((server) => end(server, placeIn(server.kind), 'has the same audience')),
      () => configs.map((each) => [ID, each, audience] as const),
    )
  }
}

interface Accepted {
  readonly config: string
  readonly audience: string
  readonly at: Path<unknown>
}

/**
 * The MCPOIDCConfig and the audience with which a server validates tokens; undefined when it accepts no tokens, or when
 * a field is unreadable.
 */
function acceptedBy(resource: Gateway | Workload, kind: string): Accepted | undefined {
  const { spec } = resource
  const incoming = kind === 'VirtualMCPServer' ? (spec as Gateway['spec'])?.incomingAuth : undefined
  if (kind === 'VirtualMCPServer' && incoming?.type !== 'oidc') return undefined
  const reference = oidcReferenceOf(resource, kind)
  const config = reference?.name
  const inside = reference?.audience
  const audience = inside === undefined || inside === '' ? incoming?.audience : inside
  if (!config || !audience) return undefined
  const isInside = audience === inside
  return { config, audience, at: isInside ? placeIn(kind) : pathTo(['spec', 'incomingAuth', 'audience']) }
}

/** The servers that validate tokens with this MCPOIDCConfig, by audience; cached for the checks of other servers. */
const acceptingBy = oncePerCluster((config: string, cluster) => {
  const found = new Map<string, ObjectName[]>()
  for (const other of cluster.referrers('MCPOIDCConfig', config, KINDS)) {
    const server = cluster.get(other.kind, other.name) as Gateway | Workload | undefined
    const accepted = server && acceptedBy(server, other.kind)
    if (accepted?.config !== config) continue
    const known = found.get(accepted.audience)
    if (known === undefined) found.set(accepted.audience, [other])
    else known.push(other)
  }
  return found
})

const placeIn = (kind: string) => oidcReferencePath(kind).audience

/** The other MCPOIDCConfigs that have the same issuer as `config`. */
function sameIssuer(name: string, config: OidcConfig, cluster: Cluster): string[] {
  const issuer = issuerOf(config)
  if (issuer === undefined) return []
  const found: string[] = []
  let left = MOST_CONFIGS
  for (const other of cluster.names('MCPOIDCConfig')) {
    if (left-- === 0) break
    const known = other === name ? undefined : getOidcConfig(cluster, other)
    if (known !== undefined && issuerOf(known) === issuer) found.push(other)
  }
  return found
}

/** The issuer whose tokens an MCPOIDCConfig accepts; empty for the issuer of the cluster itself. */
function issuerOf({ spec }: OidcConfig): string | undefined {
  return spec?.type === 'kubernetesServiceAccount'
    ? (spec.kubernetesServiceAccount?.issuer ?? '')
    : spec?.inline?.issuer
}
