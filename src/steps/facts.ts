import { entriesOf } from '../access/difference/entries.ts'
import type { Choice } from '../access/difference/choice.ts'
import { planOf } from '../access/effective-authentication.ts'
import type { RoleSelection } from '../kinds/mcp-external-auth-config/generations.ts'
import { checksTokens, getOidcConfig, getWorkload } from '../relations/index.ts'
import type { ClusterState } from '../state/index.ts'
import type { DocumentReading } from '../documents/index.ts'
import { isObject, type Segment, valueAt } from '../rule/index.ts'
import { readVersion } from '../engine/index.ts'
import { type Item, type StateJudging, without } from './states.ts'

/** The credentials that a VirtualMCPServer sends to a backend. */
export interface SentCredentials {
  /** Whether the backend is a workload of the group, rather than only a key of `backends`. */
  readonly isMember: boolean
  readonly type: string | null
  readonly token: string | null
  readonly provider: string | null
  /** The spec of the MCPExternalAuthConfig without `subjectProviderName`: `provider` is compared separately. */
  readonly settings: unknown
}

/** How callers of a server log in. */
export interface Login {
  readonly isOpen: boolean
  /** Why the server cannot validate tokens; null when it can. */
  readonly reason: string | null
  readonly oidcConfig: string | null
  readonly audience: string | null
  /** The spec of the MCPOIDCConfig without the fields that only affect how its issuer is reached. */
  readonly settings: unknown
}

/** Role mappings, or the policy of a trusted issuer, as one server uses them. */
export interface ChoicePart {
  readonly at: readonly Segment[]
  readonly settings: unknown
  readonly choice: (selection: RoleSelection) => Choice
}

/**
 * The effects of a state on authentication, by object; used to compare the states that an order of writes goes through.
 */
export interface Facts {
  /** Backends to which credentials are sent: `backend MCPServer wiki of VirtualMCPServer default/tools`. */
  readonly sent: ReadonlyMap<string, SentCredentials>
  /** Backends to which no credentials are sent, with the reason. */
  readonly lacking: ReadonlyMap<string, string>
  readonly logins: ReadonlyMap<string, Login>
  readonly parts: ReadonlyMap<string, ChoicePart>
}

const WORKLOADS = new Set(['MCPServer', 'MCPRemoteProxy', 'MCPServerEntry'])

/** The effects of a state on the authentication of these objects; objects missing in the state are skipped. */
export function factsOf(
  state: ClusterState,
  objects: readonly Omit<Item, 'value'>[],
  { reading, release }: Pick<StateJudging, 'reading' | 'release'>,
): Facts {
  const facts = new Collected(state, reading, readVersion(release))
  for (const { kind, namespace, name } of objects) {
    if (kind.kind === 'VirtualMCPServer') facts.addGateway(namespace, name)
    else if (WORKLOADS.has(kind.kind)) facts.addWorkload(kind.kind, namespace, name)
  }
  return facts
}

class Collected implements Facts {
  readonly sent = new Map<string, SentCredentials>()
  readonly lacking = new Map<string, string>()
  readonly logins = new Map<string, Login>()
  readonly parts = new Map<string, ChoicePart>()
  readonly #state: ClusterState
  readonly #reading: DocumentReading
  /** The operator release; undefined when not known. */
  readonly #release: string | undefined

  constructor(state: ClusterState, reading: DocumentReading, release: string | undefined) {
    this.#state = state
    this.#release = release
    this.#reading = reading
  }

  addGateway(namespace: string, name: string): void {
    const plan = planOf(this.#state, namespace, name, false, this.#release)
    if (plan === undefined) return
    const who = `VirtualMCPServer ${namespace}/${name}`
    const { type: incoming, reason, oidcConfig, audience } = plan.incoming
    this.logins.set(who, {
      isOpen: incoming === 'anonymous',
      reason: incoming === 'anonymous' ? null : reason,
      oidcConfig,
      audience,
      settings: withoutReach(this.#spec('MCPOIDCConfig', namespace, oidcConfig)),
    })
    this.#addParts(who, 'VirtualMCPServer', namespace, name)
    for (const backend of plan.backends) {
      const { kind, credentials, config, type, provider, token } = backend
      const isMember = kind !== null
      const consumer = `backend ${isMember ? `${kind} ` : ''}${backend.name} of ${who}`
      const settings = withoutProvider(this.#spec('MCPExternalAuthConfig', namespace, config))
      if (credentials === 'sent') this.sent.set(consumer, { isMember, type, token, provider, settings })
      else this.lacking.set(consumer, backend.reason ?? '')
      if (config !== null && isMember) this.#addParts(consumer, 'MCPExternalAuthConfig', namespace, config)
    }
  }

  addWorkload(kind: string, namespace: string, name: string): void {
    const cluster = this.#state.in(namespace)
    const workload = getWorkload(cluster, { kind, name })
    if (workload === undefined) return
    const who = `${kind} ${namespace}/${name}`
    const { spec = {} } = workload
    const oidcConfig = spec.oidcConfigRef?.name ?? null
    const isChecking = checksTokens(kind, workload)
    const found = oidcConfig === null ? undefined : getOidcConfig(cluster, oidcConfig)
    this.logins.set(who, {
      isOpen: !isChecking,
      reason: !isChecking || found !== undefined ? null : `MCPOIDCConfig ${oidcConfig ?? ''} is not there`,
      oidcConfig,
      audience: spec.oidcConfigRef?.audience ?? null,
      settings: withoutReach(this.#spec('MCPOIDCConfig', namespace, oidcConfig)),
    })
    for (const field of ['externalAuthConfigRef', 'authServerRef'] as const) {
      const ref = (spec as Readonly<Record<string, unknown>>)[field]
      const config = isObject(ref) && typeof ref.name === 'string' ? ref.name : undefined
      if (config !== undefined) this.#addParts(who, 'MCPExternalAuthConfig', namespace, config)
    }
  }

  #addParts(consumer: string, kind: string, namespace: string, name: string): void {
    const value = this.#state.object(kind, namespace, name)
    if (!isObject(value)) return
    for (const { key, at, choice } of entriesOf([value], { ...this.#reading, namespace }))
      this.parts.set(JSON.stringify([consumer, key]), { at, settings: valueAt(value, at), choice })
  }

  #spec(kind: string, namespace: string, name: string | null): unknown {
    const value = name === null ? undefined : this.#state.object(kind, namespace, name)
    return isObject(value) ? value.spec : undefined
  }
}

/** Fields of an MCPOIDCConfig that affect how keys are fetched, but not which tokens are accepted. */
const REACH = new Set([
  'caBundleRef',
  'insecureAllowHTTP',
  'jwksAllowPrivateIP',
  'jwksAuthTokenPath',
  'protectedResourceAllowPrivateIP',
  'useClusterAuth',
])

function withoutReach(part: unknown): unknown {
  if (!isObject(part)) return part
  const kept = Object.entries(part).filter(([name]) => !REACH.has(name))
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutReach(value)]))
}

/** The spec without `subjectProviderName`, which /mutate may write: the provider in use is compared separately. */
function withoutProvider(spec: unknown): unknown {
  if (!isObject(spec) || !isObject(spec.tokenExchange)) return spec
  return { ...spec, tokenExchange: without(spec.tokenExchange, 'subjectProviderName') }
}
