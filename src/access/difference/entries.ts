import { mcpExternalAuthConfig } from '../../kinds/mcp-external-auth-config/index.ts'
import { kindOf, nameOf, namespaceOf, type DocumentReading } from '../../documents/index.ts'
import { isObject, pathText, type Resource, type Segment } from '../../rule/index.ts'
import type { RoleSelection } from '../../kinds/mcp-external-auth-config/generations.ts'
import { UNKNOWN_TOKENS, type CallerTokens, callerTokensOf } from '../role/caller-tokens.ts'
import type { ClusterState } from '../../state/index.ts'
import type { Choice } from './choice.ts'
import { delegationChoice } from './delegation-choice.ts'
import { roleChoice } from './role-choice.ts'

/** A part of a resource that grants access by claims: an `awsSts`, or the policy of a trusted issuer. */
export interface Entry {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** The index of the document that contains the resource, in the list of parsed documents. */
  readonly document: number
  readonly at: readonly Segment[]
  /** Identifies the `awsSts` or the policy within its resource; the same in the old and the new state. */
  readonly key: string
  readonly choice: (selection: RoleSelection) => Choice
  /** The tokens that callers can have, judged by the objects that use this `awsSts` or policy. */
  readonly callerTokens: CallerTokens
}

/** The path of an entry in its resource, as text: `spec.awsSts`. */
export const entryPath = ({ at }: Entry): string => pathText(at)

/**
 * The parts of the documents that grant access by claims. When two documents are of the same resource, only the later
 * one counts, as if both were applied. `state` has the objects that use these parts.
 */
export function entriesOf(
  values: readonly unknown[],
  reading: DocumentReading,
  state?: ClusterState,
): Entry[] {
  const entries = new Map<string, Entry>()
  values.forEach((value, document) => {
    const kind = kindOf(value, reading)
    if (kind === undefined || !isObject(value)) return
    const resource = value as Resource
    const subject = {
      kind: kind.kind,
      namespace: namespaceOf(value, reading),
      name: nameOf(resource),
      document,
    }
    for (const entry of partsOf(value, kind.kind === mcpExternalAuthConfig.kind)) {
      const callerTokens =
        entry.key === 'awsSts' && state !== undefined
          ? callerTokensOf(subject.name, state.in(subject.namespace))
          : UNKNOWN_TOKENS
      entries.set(entryKey({ ...subject, ...entry }), { ...subject, ...entry, callerTokens })
    }
  })
  return [...entries.values()]
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

/** The policies of trusted issuers in all embedded authorization servers inside a value. */
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
