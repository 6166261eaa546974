import {
  aboutEach,
  advice,
  type Cluster,
  compareReleases,
  end,
  type FieldError,
  isAbsent,
  namesText,
  nameText,
  type ObjectName,
  oncePerCluster,
  relatedTo,
  type ErrorSubject,
} from '../rule/index.ts'
import { AUTH_CONFIG, GATEWAY, WORKLOAD } from './ends.ts'
import { isForNoBackend } from './matrix.ts'
import { defaultOf, frontersOf, isListed, ownConfigOf, sourceOf, unlisted, usersByGroup } from './reach.ts'
import {
  type AuthConfig,
  authConfigNamed,
  type Gateway,
  getAuthConfig,
  getWorkload,
  groupOf,
  type Workload,
} from './related-resources.ts'

/** The first release that mounts the Secret of a backend's own `externalAuthConfigRef` when the source is `inline`. */
const MOUNTED_FROM = '0.57'

/**
 * Backends that a VirtualMCPServer of source `inline` does not list, and the MCPExternalAuthConfig in their own
 * `externalAuthConfigRef`.
 */
export interface OwnReference {
  readonly config: string
  readonly members: readonly ObjectName[]
  /**
   * The credentials that the specification gives to these backends instead of their own MCPExternalAuthConfig;
   * undefined when a release is known, because all releases use the MCPExternalAuthConfig of the backends.
   */
  readonly specified: 'default' | 'none' | undefined
  /**
   * Whether no release can use this type of MCPExternalAuthConfig for backends: then vMCP leaves these backends out.
   */
  readonly isLeftOut: boolean
  /**
   * Whether vMCP of a release before 0.57 fails at start-up, because the Secret of the MCPExternalAuthConfig is not
   * mounted.
   */
  readonly endsPod: boolean
}

/**
 * The MCPExternalAuthConfigs that backends outside of `outgoingAuth.backends` name themselves, where releases differ
 * from the specification or the pod of vMCP fails. Decision 10.
 */
function ownReferences(gateway: Gateway, cluster: Cluster): OwnReference[] {
  if (sourceOf(gateway) !== 'inline') return []
  const found = new Map<string, ObjectName[]>()
  for (const member of unlisted(gateway, cluster)) {
    const { config } = ownConfigOf(getWorkload(cluster, member) ?? {})
    if (config === undefined) continue
    const members = found.get(config)
    if (members === undefined) found.set(config, [member])
    else members.push(member)
  }
  return Array.from(found).flatMap(([config, members]) =>
    problemOf(gateway, config, cluster).map((problem) => ({ config, members, ...problem })),
  )
}

/** For one backend, which names `config`: how releases differ from the specification, or fail; empty if neither. */
export const ownReferenceOf = (
  gateway: Gateway,
  { kind, name }: ObjectName,
  config: string,
  cluster: Cluster,
): OwnReference[] =>
  sourceOf(gateway) !== 'inline' || isListed(gateway, name)
    ? []
    : problemOf(gateway, config, cluster).map((problem) => ({
        config,
        members: [{ kind, name }],
        ...problem,
      }))

function problemOf(
  gateway: Gateway,
  config: string,
  cluster: Cluster,
): Pick<OwnReference, 'specified' | 'isLeftOut' | 'endsPod'>[] {
  const { release } = cluster
  const fallback = defaultOf(gateway)
  const auth = getAuthConfig(cluster, config)
  const isLeftOut = isForNoBackend(auth)
  const endsPod =
    (release === undefined || compareReleases(release, MOUNTED_FROM) < 0) &&
    fallback.config !== config &&
    holdsSecret(auth) &&
    !named(gateway, cluster).has(config)
  if (release !== undefined) return endsPod ? [{ specified: undefined, isLeftOut, endsPod }] : []
  if (fallback.config === config || fallback.from === 'unknown') return []
  if (fallback.from === 'none' && auth?.spec?.type === 'unauthenticated') return []
  return [{ specified: fallback.from === 'none' ? 'none' : 'default', isLeftOut, endsPod }]
}

/** The MCPExternalAuthConfigs in the `backends` field: the operator mounts their Secrets. */
const named = oncePerCluster(
  ({ spec }: Gateway) =>
    new Set(
      Object.values(spec?.outgoingAuth?.backends ?? {}).map((entry) => entry?.externalAuthConfigRef?.name),
    ),
)

/** Whether the MCPExternalAuthConfig refers to a Secret that vMCP reads from an environment variable. */
function holdsSecret(config: AuthConfig | undefined): boolean {
  const { type, headerInjection, tokenExchange } = config?.spec ?? {}
  if (type === 'headerInjection') return headerInjection?.valueSecretRef !== undefined
  return (
    type === 'tokenExchange' && tokenExchange !== undefined && !isAbsent(tokenExchange, 'clientSecretRef')
  )
}

/** The most VirtualMCPServers of a group that are looked at for one MCPExternalAuthConfig. */
const MOST_GATEWAYS = 50

/** The first VirtualMCPServer that does not list backends which name the MCPExternalAuthConfig, and these backends. */
function unlistedUse(
  { name: config }: ObjectName,
  cluster: Cluster,
  isWanted: (own: OwnReference) => boolean,
) {
  for (const [group, users] of usersByGroup(config, cluster))
    for (const { name, gateway, source } of frontersOf(group, cluster).slice(0, MOST_GATEWAYS)) {
      if (source !== 'inline') continue
      const [problem] = problemOf(gateway, config, cluster)
      const members = problem === undefined ? [] : users.filter((user) => !isListed(gateway, user.name))
      if (problem === undefined || members.length === 0) continue
      const own = { config, members, ...problem }
      if (isWanted(own)) return { own, gateway: name }
    }
  return undefined
}

/**
 * The findings about MCPExternalAuthConfigs that backends name themselves, at a VirtualMCPServer or a workload.
 * `isWanted` selects those that the calling rule reports.
 */
export function* ownReferenceErrors(
  id: string,
  resource: AuthConfig | Gateway | Workload,
  self: ObjectName,
  cluster: Cluster,
  isWanted: (own: OwnReference) => boolean,
): Iterable<FieldError> {
  if (self.kind === 'MCPExternalAuthConfig') {
    const found = unlistedUse(self, cluster, isWanted)
    if (found !== undefined) yield ofConfig(id, found.own, found.gateway)
    return
  }
  if (self.kind === 'VirtualMCPServer') {
    for (const own of ownReferences(resource as Gateway, cluster)) if (isWanted(own)) yield ofGateway(id, own)
    return
  }
  const workload = resource as Workload
  const { spec } = workload
  const config = spec?.externalAuthConfigRef?.name
  const group = groupOf(workload)
  if (config === undefined || group === undefined) return
  for (const { name, gateway } of frontersOf(group, cluster))
    for (const own of ownReferenceOf(gateway, self, config, cluster))
      if (isWanted(own)) yield ofWorkload(id, own, name)
}

const IS_NOT_MOUNTED = 'as its Secret is not mounted'

/** The text of a message that compares a backend's credentials in the specification with those in releases. */
function effect({ specified, isLeftOut, endsPod }: OwnReference, used: string): string {
  if (specified === undefined)
    return `this release uses ${used}, and vMCP does not start, ${IS_NOT_MOUNTED}: "environment variable … not set"`
  const has = specified === 'none' ? 'no credentials' : 'the default'
  const ends = endsPod ? `, and up to 0.56 vMCP does not start, ${IS_NOT_MOUNTED}` : ''
  const does = isLeftOut ? `leave it out: they cannot use ${used}` : `use ${used}`
  return `the specification has ${has} for it, releases ${does}${ends}`
}

function ofGateway(id: string, own: OwnReference): FieldError {
  const { config, members } = own
  const used = `its own ${nameText(authConfigNamed(config))}`
  const text = `list ${namesText(members, 2)}: ${effect(own, used)}`
  const error = aboutEach(advice(GATEWAY.spec.outgoingAuth.backends, text), () =>
    members.map(({ kind, name }) => [id, kind, name] as const),
  )
  const ends = members.slice(0, 4).map((each) => end(each, WORKLOAD.spec.externalAuthConfigRef, 'names it'))
  return relatedTo(error, ends, () => members.map(cause))
}

function ofWorkload(id: string, own: OwnReference, gateway: ObjectName): FieldError {
  const text = `list this workload in \`backends\` of ${nameText(gateway)}: ${effect(own, 'this reference')}`
  const error = aboutEach(advice(WORKLOAD.spec.externalAuthConfigRef, text), () => [[id, gateway.name]])
  const ends = [end(gateway, GATEWAY.spec.outgoingAuth, 'does not list it')]
  return relatedTo(error, ends, () => own.members.map(cause))
}

function ofConfig(id: string, own: OwnReference, gateway: ObjectName): FieldError {
  const { members } = own
  const text = `list ${namesText(members, 1)} in \`backends\` of ${nameText(gateway)}: ${effect(own, 'this configuration')}`
  const error = aboutEach(advice(AUTH_CONFIG.spec.type, text), () =>
    members.map(({ kind, name }) => [id, kind, name, gateway.name] as const),
  )
  const ends = [end(gateway, GATEWAY.spec.outgoingAuth, 'does not list it')]
  return relatedTo(error, ends, () => members.map(cause))
}

const cause = ({ kind, name }: ObjectName): ErrorSubject => ['own reference not listed', kind, name]
