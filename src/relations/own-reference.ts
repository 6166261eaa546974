import { type Cluster, isAbsent, type ObjectName } from '../rule/index.ts'
import { isForNoBackend } from './matrix.ts'
import { defaultOf, isListed, ownConfigOf, sourceOf, unlisted } from './reach.ts'
import { type AuthConfig, type Gateway, getAuthConfig, getWorkload } from './related-resources.ts'

/** The first release that mounts the Secret of an own reference beside the source `inline`. */
const MOUNTED_FROM = '0.57'

/** Members that an inline VirtualMCPServer does not list, and the configuration that they name themselves. */
export interface OwnReference {
  readonly config: string
  readonly members: readonly ObjectName[]
  /** What the specification has for them; undefined where a release is known, which uses the own reference. */
  readonly specified: 'default' | 'none' | undefined
  /** Whether releases have no strategy for its type, and leave the members out. */
  readonly isLeftOut: boolean
  /** Whether releases before 0.57 do not start: the configuration has a Secret, which nothing mounts. */
  readonly endsPod: boolean
}

/** The own references beside the source `inline` that do not do the same everywhere, or end the pod. Decision 10. */
export function ownReferences(gateway: Gateway, cluster: Cluster): OwnReference[] {
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

/** The same of one member. */
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
    (release === undefined || isBefore(release, MOUNTED_FROM)) &&
    fallback.config !== config &&
    holdsSecret(auth) &&
    !names(gateway, config)
  if (release !== undefined) return endsPod ? [{ specified: undefined, isLeftOut, endsPod }] : []
  if (fallback.config === config || fallback.from === 'unknown') return []
  if (fallback.from === 'none' && auth?.spec?.type === 'unauthenticated') return []
  return [{ specified: fallback.from === 'none' ? 'none' : 'default', isLeftOut, endsPod }]
}

/** Whether `backends` names the configuration for another backend, so that its Secret is mounted. */
const names = ({ spec }: Gateway, config: string): boolean =>
  Object.values(spec?.outgoingAuth?.backends ?? {}).some(
    (entry) => entry?.externalAuthConfigRef?.name === config,
  )

/** Whether the process reads a value of the configuration from its environment. */
function holdsSecret(config: AuthConfig | undefined): boolean {
  const { type, headerInjection, tokenExchange } = config?.spec ?? {}
  if (type === 'headerInjection') return headerInjection?.valueSecretRef !== undefined
  return (
    type === 'tokenExchange' && tokenExchange !== undefined && !isAbsent(tokenExchange, 'clientSecretRef')
  )
}

const isBefore = (release: string, other: string): boolean =>
  release.localeCompare(other, 'en', { numeric: true }) < 0
