import { type Gateway, getOidcConfig, oidcConfigNamed, providersOf } from '../relations/index.ts'
import { type Cluster, isAbsent, withoutUserInfo } from '../rule/index.ts'
import { notFound, notSpecified, unreadable } from './unknown.ts'

/** How clients authenticate to a gateway. Values that do not apply or are not known are null. Specification 5.1. */
export interface Incoming {
  /** How clients authenticate, in one line. */
  readonly summary: string
  /** The `type` of `incomingAuth`: `anonymous`, `oidc`, or another value as written. */
  readonly type: string | null
  /** Name of the MCPOIDCConfig that `incomingAuth` refers to. */
  readonly oidcConfig: string | null
  readonly oidcType: string | null
  readonly issuer: string | null
  readonly audience: string | null
  /** Why values that apply, such as the issuer, are not known. */
  readonly reason: string | null
}

/** The authorization server embedded in a VirtualMCPServer. Specification 2.4.3. */
export interface AuthServer {
  readonly summary: string
  readonly issuer: string | null
  /** The upstream providers, in the order in which users log in. */
  readonly providers: readonly string[]
  /** Whether `providers` has the names of all upstream providers: false when a name is not known. */
  readonly complete: boolean
}

type IncomingAuth = NonNullable<NonNullable<Gateway['spec']>['incomingAuth']>

const NOTHING = { oidcConfig: null, oidcType: null, issuer: null, audience: null, reason: null }

/** How clients authenticate to the VirtualMCPServer. Specification 5.1. */
export function incomingOf({ spec = {} }: Gateway, cluster: Cluster): Incoming {
  const { incomingAuth } = spec
  if (incomingAuth === undefined) {
    const reason = unreadable(spec, 'incomingAuth')
    return { summary: `not known (${reason})`, type: null, ...NOTHING, reason }
  }
  const type: string | undefined = incomingAuth.type
  switch (type) {
    case 'anonymous':
      return { summary: 'anonymous: no authentication, no access control', type, ...NOTHING }
    case 'oidc':
      return oidc(incomingAuth, cluster)
    case undefined: {
      const reason = unreadable(incomingAuth, 'type')
      return { summary: `not known (${reason})`, type: null, ...NOTHING, reason }
    }
    default: {
      const reason = notSpecified('type', type)
      return { summary: `not known (${reason})`, type, ...NOTHING, reason }
    }
  }
}

function oidc(incomingAuth: IncomingAuth, cluster: Cluster): Incoming {
  const config = configOf(incomingAuth, cluster)
  const audience = audienceOf(incomingAuth)
  const reason = [config.reason, audience.reason].filter((text) => text !== null).join('; ')
  const issuer =
    config.oidcType === 'kubernetesServiceAccount'
      ? "the cluster's API server"
      : (config.issuer ?? 'not known')
  const parts = [
    `oidc: issuer ${issuer}`,
    ...(config.oidcConfig === null ? [] : [`MCPOIDCConfig ${config.oidcConfig}`]),
    `audience ${audience.audience ?? 'not known'}`,
  ]
  return {
    summary: `${parts.join(', ')}${reason === '' ? '' : ` (${reason})`}`,
    type: 'oidc',
    ...config,
    ...audience,
    reason: reason === '' ? null : reason,
  }
}

type Config = Pick<Incoming, 'oidcConfig' | 'oidcType' | 'issuer' | 'reason'>

function configOf(incomingAuth: IncomingAuth, cluster: Cluster): Config {
  const none = { oidcConfig: null, oidcType: null, issuer: null }
  const ref = incomingAuth.oidcConfigRef
  if (ref === undefined) return { ...none, reason: unreadable(incomingAuth, 'oidcConfigRef') }
  const { name } = ref
  if (name === undefined) return { ...none, reason: unreadable(ref, 'name', 'oidcConfigRef.name') }
  const config = getOidcConfig(cluster, name)
  if (config === undefined)
    return { ...none, oidcConfig: name, reason: notFound(oidcConfigNamed(name), cluster) }
  const { spec = {} } = config
  const type: string | undefined = spec.type
  const found = { oidcConfig: name, oidcType: type ?? null, issuer: null, reason: null }
  switch (type) {
    case 'kubernetesServiceAccount':
      return found
    case 'inline': {
      const { inline } = spec
      if (inline === undefined)
        return { ...found, reason: unreadable(spec, 'inline', `inline of MCPOIDCConfig ${name}`) }
      if (inline.issuer !== undefined) return { ...found, issuer: withoutUserInfo(inline.issuer) }
      return { ...found, reason: unreadable(inline, 'issuer', `issuer of MCPOIDCConfig ${name}`) }
    }
    case undefined:
      return { ...found, reason: unreadable(spec, 'type', `type of MCPOIDCConfig ${name}`) }
    default:
      return { ...found, reason: notSpecified('MCPOIDCConfig type', type) }
  }
}

/** The audience that tokens must have: from `incomingAuth` or, in releases, from `oidcConfigRef` (decision 4). */
function audienceOf(incomingAuth: IncomingAuth): Pick<Incoming, 'audience' | 'reason'> {
  const holders = [incomingAuth, incomingAuth.oidcConfigRef ?? {}].filter(
    (holder) => !isAbsent(holder, 'audience'),
  )
  const given = new Set(holders.map(({ audience }) => audience))
  const [audience] = given
  if (given.has(undefined)) return { audience: null, reason: unreadable({ audience }, 'audience') }
  if (given.size > 1)
    return { audience: null, reason: '`audience` and `oidcConfigRef.audience` contradict each other' }
  if (audience === undefined || audience === '') return { audience: null, reason: 'audience is missing' }
  return { audience: withoutUserInfo(audience), reason: null }
}

/** The authorization server that a VirtualMCPServer embeds; null when it embeds none. */
export function authServerOf({ spec }: Gateway): AuthServer | null {
  const found = providersOf(spec, 'authServerConfig')
  if (found === undefined) return null
  const given = spec?.authServerConfig?.issuer
  const issuer = given === undefined ? null : withoutUserInfo(given)
  const { names: providers, complete } = found
  const listed = [...providers, ...(complete ? [] : ['others that are not known'])]
  const summary = `issuer ${issuer ?? 'not known'}, ${listed.length === 0 ? 'no provider' : `login at ${listed.join(', ')}`}`
  return { summary, issuer, providers, complete }
}
