import { type Cluster, isObject, type Resource, type Segment } from '../rule/index.ts'

/** Kinds of the operator that rules read when a resource refers to them, but that no rule judges. */
export const POLICY_KINDS = [
  { kind: 'MCPAuthzConfig', plural: 'mcpauthzconfigs' },
  { kind: 'MCPToolConfig', plural: 'mcptoolconfigs' },
] as const
export type PolicyKind = (typeof POLICY_KINDS)[number]['kind']

export const isPolicyKind = (kind: unknown): kind is PolicyKind =>
  POLICY_KINDS.some((each) => each.kind === kind)

/**
 * An MCPAuthzConfig's type, and in `config` its policies and settings. A value that a deployment tool will replace is
 * undefined.
 */
export interface PolicyFacts extends Resource {
  readonly type?: string
  readonly config?: Readonly<Record<string, unknown>>
}

/** Reads an MCPAuthzConfig or MCPToolConfig; `isFilled` recognises a text that a deployment tool will replace. */
export function policyFacts(
  { spec }: Readonly<Record<string, unknown>>,
  isFilled: (text: string) => boolean = () => false,
): PolicyFacts {
  const { type, config } = isObject(spec) ? spec : {}
  const known = (value: unknown) => (typeof value === 'string' && isFilled(value) ? undefined : value)
  return {
    ...(typeof type === 'string' && !isFilled(type) && { type }),
    ...(isObject(config) && {
      config: Object.fromEntries(
        Object.entries(config).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.map(known) : known(value),
        ]),
      ),
    }),
  }
}

export const getPolicies = (cluster: Cluster, { kind, name }: Pick<PolicyReference, 'kind' | 'name'>) =>
  cluster.get(kind, name) as PolicyFacts | undefined

export interface PolicyReference {
  readonly kind: PolicyKind
  readonly name: string
  /** The path of the reference's field `name` in the resource. */
  readonly at: readonly Segment[]
}

/** The fields that refer to these kinds; `*` stands for any item of a list. */
const FIELDS: readonly (readonly [PolicyKind, ...string[]])[] = [
  ['MCPAuthzConfig', 'spec', 'authzConfigRef'],
  ['MCPAuthzConfig', 'spec', 'incomingAuth', 'authzConfigRef'],
  ['MCPToolConfig', 'spec', 'toolConfigRef'],
  ['MCPToolConfig', 'spec', 'config', 'aggregation', 'tools', '*', 'toolConfigRef'],
]

export const policyReferencesOf = (resource: { readonly spec?: unknown }): PolicyReference[] =>
  FIELDS.flatMap(([kind, ...path]) => {
    let found: { readonly value: unknown; readonly at: readonly (string | number)[] }[] = [
      { value: resource, at: [] },
    ]
    for (const step of [...path, 'name'])
      found = found.flatMap(({ value, at }) => {
        if (step === '*')
          return Array.isArray(value)
            ? value.map((item: unknown, i) => ({ value: item, at: [...at, i] }))
            : []
        return isObject(value) && Object.hasOwn(value, step)
          ? [{ value: value[step], at: [...at, step] }]
          : []
      })
    return found.flatMap(({ value, at }) =>
      typeof value === 'string' && value !== '' ? [{ kind, name: value, at }] : [],
    )
  })

/** Returns a function that lists the references of a resource to objects of this policy kind. */
export const policiesOf = (kind: PolicyKind) => (resource: { readonly spec?: unknown }) =>
  policyReferencesOf(resource).filter((reference) => reference.kind === kind)
