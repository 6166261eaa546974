import { mcpExternalAuthConfig } from '../../kinds/mcp-external-auth-config/index.ts'
import {
  type DocumentReading,
  type GivenSubject,
  kindOf,
  nameOf,
  namespaceOf,
} from '../../documents/index.ts'
import { isObject, pathText, type Resource, type Segment } from '../../rule/index.ts'
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
    const [namespace, name] = [namespaceOf(value, reading), nameOf(value)]
    subjects.set(JSON.stringify([kind, namespace, name]), { kind, namespace, name, document })
  })
  return [...subjects.values()]
}

/** The parts of the documents that grant access by claims. `state` has the objects that use these parts. */
export function entriesOf(
  values: readonly unknown[],
  reading: DocumentReading,
  state?: ClusterState,
): Entry[] {
  return subjectsIn(values, reading).flatMap((subject) =>
    partsOf(values[subject.document] as Resource, subject.kind === mcpExternalAuthConfig.kind).map(
      (part) => ({
        ...subject,
        ...part,
        callerTokens:
          part.key === 'awsSts' && state !== undefined
            ? callerTokensOf(subject.name, state.in(subject.namespace))
            : UNKNOWN_TOKENS,
      }),
    ),
  )
}

export const entryKey = ({
  kind,
  namespace,
  name,
  key,
}: Pick<Entry, 'kind' | 'namespace' | 'name' | 'key'>): string => JSON.stringify([kind, namespace, name, key])

type Part = Pick<Entry, 'at' | 'key' | 'choice'>

function partsOf(value: Readonly<Record<string, unknown>>, isConfig: boolean): Part[] {
  const { spec } = value
  if (!isObject(spec)) return []
  const roles: Part[] =
    isConfig && isObject(spec.awsSts)
      ? [{ at: ['spec', 'awsSts'], key: 'awsSts', choice: (selection) => roleChoice(value, selection) }]
      : []
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

function issuerPolicies(
  server: Readonly<Record<string, unknown>>,
  issuers: readonly unknown[],
  at: readonly Segment[],
): Part[] {
  const grants = isObject(server.inboundGrants) ? server.inboundGrants : {}
  const exchange = isObject(grants.tokenExchange) ? grants.tokenExchange : {}
  const policies = Array.isArray(exchange.issuerPolicies) ? exchange.issuerPolicies : []
  const place = [...at.slice(0, -1), 'inboundGrants', 'tokenExchange', 'issuerPolicies']
  const urls = new Map(
    issuers.flatMap((each): [unknown, unknown][] => (isObject(each) ? [[each.name, each.issuerUrl]] : [])),
  )
  return numbered([
    ...issuers.flatMap((each, i) => (isObject(each) ? policyPart(each, each.issuerUrl, [...at, i]) : [])),
    ...policies.flatMap((each, i) =>
      isObject(each) ? policyPart(each, urls.get(each.issuerRef), [...place, i]) : [],
    ),
  ])
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

function policyPart(
  policy: Readonly<Record<string, unknown>>,
  issuer: unknown,
  at: readonly Segment[],
): Part[] {
  if (typeof issuer !== 'string' || DECIDING.every((name) => policy[name] === undefined)) return []
  const holder = at.slice(0, -1).filter((each) => typeof each === 'string')
  const key = `${holder.join('.')} ${issuer}`
  return [{ at, key, choice: (selection) => delegationChoice({ ...policy, issuer }, selection) }]
}
