import { API_VERSION, DEFAULT_API_GROUP, KINDS } from './index.ts'
import type { Kind } from './kind.ts'
import type { Segment } from '../rule/path.ts'
import type { Rule } from '../rule/rule.ts'

/** A rule at one place where it applies. */
export interface RulePlace {
  readonly rule: Rule
  readonly kind: Kind
  readonly at: readonly Segment[]
}

/** Every rule of every kind, and the rules of parts once for each kind that holds the part. */
export function rulePlaces(): RulePlace[] {
  return KINDS.flatMap((kind) => [
    ...kind.rules.map((rule) => ({ rule, kind, at: [] })),
    ...kind.parts.flatMap(({ part, at }) => part.rules.map((rule) => ({ rule, kind, at }))),
  ])
}

/** Every rule once. */
export function allRules(): Rule[] {
  return [...new Set(rulePlaces().map(({ rule }) => rule))]
}

/** An example as a resource that can be applied: the part in an otherwise valid holder. */
export function exampleResource(
  { kind, at }: RulePlace,
  value: unknown,
  name: string,
): Record<string, unknown> {
  const envelope = {
    apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
    kind: kind.kind,
    metadata: { name, namespace: 'default' },
  }
  if (at.length === 0) return { ...envelope, ...(value as object) }
  const holder = HOLDERS[kind.kind]
  if (holder === undefined) throw new Error(`no holder for parts of ${kind.kind}`)
  return { ...envelope, spec: holder(value) }
}

const HOLDERS: Readonly<Record<string, (part: unknown) => object>> = {
  MCPExternalAuthConfig: (embeddedAuthServer) => ({ type: 'embeddedAuthServer', embeddedAuthServer }),
  VirtualMCPServer: (authServerConfig) => ({
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'tools' }, audience: 'tools' },
    authServerConfig,
  }),
}
