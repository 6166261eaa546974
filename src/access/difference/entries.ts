import { mcpExternalAuthConfig } from '../../kinds/mcp-external-auth-config/index.ts'
import { type DocumentReading, type GivenSubject, kindOf, subjectOf } from '../../documents/index.ts'
import { type Cluster, isObject, objectKey, pathText, type Segment } from '../../rule/index.ts'
import type { RoleSelection } from '../../kinds/mcp-external-auth-config/generations.ts'
import { UNKNOWN_TOKENS, type CallerTokens, callerTokensOf } from '../role/caller-tokens.ts'
import type { ClusterState } from '../../state/index.ts'
import type { Choice } from './choice.ts'
import { delegationChoice } from './delegation-choice.ts'
import { roleChoice } from './role-choice.ts'

/** A resource that a parsed document contains, with the index of the document in its list. */
interface DocumentSubject extends GivenSubject {
  readonly document: number
}

/** A part of a resource that grants access by claims: an `awsSts`, or the policy of a trusted issuer. */
export interface Entry extends DocumentSubject {
  readonly at: readonly Segment[]
  /** Identifies the `awsSts` or the policy within its resource; the same in the old and the new state. */
  readonly key: string
  /** The fields that decide the access: two entries with equal settings have the same `choice`. */
  readonly settings: unknown
  readonly choice: (selection: RoleSelection) => Choice
  /** The tokens that callers can have, derived from the objects that use this `awsSts`; not known for a policy. */
  readonly callerTokens: CallerTokens
}

/** The path of an entry in its resource, as text: `spec.awsSts`. */
export const entryPath = ({ at }: Entry): string => pathText(at)

/**
 * The resources that the documents contain. When two documents contain the same resource, only the later one counts, as
 * if both were applied.
 */
export function subjectsIn(values: readonly unknown[], reading: DocumentReading): readonly DocumentSubject[] {
  const subjects = new Map<string, DocumentSubject>()
  values.forEach((value, document) => {
    const kind = kindOf(value, reading)?.kind
    if (kind === undefined || !isObject(value)) return
    const subject = subjectOf(kind, value, reading)
    subjects.set(objectKey(subject), { ...subject, document })
  })
  return [...subjects.values()]
}

/**
 * The parts of the documents that grant access by claims. `state` has the objects that use these parts, as gateways of
 * the operator `release` do.
 */
export function entriesOf(
  values: readonly unknown[],
  reading: DocumentReading,
  state?: ClusterState,
  release?: string,
): Entry[] {
  const clusters = new Map<string, Cluster>()
  const tokensFor = ({ namespace, name }: GivenSubject): CallerTokens => {
    if (state === undefined) return UNKNOWN_TOKENS
    const cluster = clusters.get(namespace) ?? state.in(namespace, release)
    clusters.set(namespace, cluster)
    return callerTokensOf(name, cluster)
  }
  return subjectsIn(values, reading).flatMap((subject) =>
    partsOf(
      values[subject.document] as Readonly<Record<string, unknown>>,
      subject.kind === mcpExternalAuthConfig.kind,
    ).map((part) => ({
      ...subject,
      ...part,
      callerTokens: part.key === 'awsSts' ? tokensFor(subject) : UNKNOWN_TOKENS,
    })),
  )
}

export const entryKey = ({
  kind,
  namespace,
  name,
  key,
}: Pick<Entry, 'kind' | 'namespace' | 'name' | 'key'>): string => JSON.stringify([kind, namespace, name, key])

type Part = Pick<Entry, 'at' | 'key' | 'settings' | 'choice'>

function partsOf(value: Readonly<Record<string, unknown>>, isConfig: boolean): Part[] {
  const { spec } = value
  if (!isObject(spec)) return []
  const { awsSts } = spec
  const choice = (selection: RoleSelection) => roleChoice(value, selection)
  const roles: Part[] =
    isConfig && isObject(awsSts) ? [{ at: ['spec', 'awsSts'], key: 'awsSts', settings: awsSts, choice }] : []
  return [...roles, ...policiesIn(spec, ['spec'])]
}

/** The policies of trusted issuers in all embedded authorization servers inside `part`, a value in a manifest. */
function policiesIn(part: unknown, at: readonly Segment[]): Part[] {
  if (!isObject(part)) return []
  return Object.entries(part).flatMap(([name, member]) => {
    const here = [...at, name]
    if (name === 'trustedIssuers' && Array.isArray(member)) return issuerPolicies(part, member, here)
    return policiesIn(member, here)
  })
}

const DECIDING = ['allowedActors', 'actorMatcher', 'allowMayAct'] as const

/**
 * The policies of the trusted issuers of one server, each in the issuer itself or in `inboundGrants`; in the order of
 * the issuers, so that a policy keeps its key when it moves from the one place to the other.
 */
function issuerPolicies(
  server: Readonly<Record<string, unknown>>,
  issuers: readonly unknown[],
  at: readonly Segment[],
): Part[] {
  const grants = isObject(server.inboundGrants) ? server.inboundGrants : {}
  const exchange = isObject(grants.tokenExchange) ? grants.tokenExchange : {}
  const policies: readonly unknown[] = Array.isArray(exchange.issuerPolicies) ? exchange.issuerPolicies : []
  const holder = at.slice(0, -1)
  const place = [...holder, 'inboundGrants', 'tokenExchange', 'issuerPolicies']
  const named = new Map(issuers.map((each, i) => [isObject(each) ? each.name : undefined, i] as const))
  const given = [
    ...issuers.map((policy, i) => ({ policy, of: i, at: [...at, i] })),
    ...policies.flatMap((policy, i) => {
      const of = named.get(isObject(policy) ? policy.issuerRef : undefined)
      return of === undefined ? [] : [{ policy, of, at: [...place, i] }]
    }),
  ].toSorted((one, other) => one.of - other.of)
  return numbered(
    given.flatMap(({ policy, of, at: own }) => policyPart(policy, issuers[of], own, pathText(holder))),
  )
}

/** Appends numbers to keys that occur more than once, because several policies may be about the same issuer. */
function numbered(parts: readonly Part[]): Part[] {
  const seen = new Map<string, number>()
  return parts.map((part) => {
    const before = seen.get(part.key) ?? 0
    seen.set(part.key, before + 1)
    return before === 0 ? part : { ...part, key: `${part.key} ${before}` }
  })
}

function policyPart(policy: unknown, trusted: unknown, at: readonly Segment[], server: string): Part[] {
  const issuer = isObject(trusted) ? trusted.issuerUrl : undefined
  if (typeof issuer !== 'string' || !isObject(policy)) return []
  if (DECIDING.every((name) => policy[name] === undefined)) return []
  const { actorClaim, allowedActors, actorMatcher, allowMayAct } = policy
  const settings = { issuer, actorClaim, allowedActors, actorMatcher, allowMayAct }
  const choice = (selection: RoleSelection) => delegationChoice(settings, selection)
  return [{ at, key: `${server} ${issuer}`, settings, choice }]
}
