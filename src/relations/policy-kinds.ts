import { type Cluster, isObject, type Resource, type Segment, valueAt } from '../rule/index.ts'

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

const FIELDS: readonly (readonly [kind: PolicyKind, at: readonly string[]])[] = [
  ['MCPAuthzConfig', ['spec', 'authzConfigRef', 'name']],
  ['MCPAuthzConfig', ['spec', 'incomingAuth', 'authzConfigRef', 'name']],
  ['MCPToolConfig', ['spec', 'toolConfigRef', 'name']],
]
/** The list in which a VirtualMCPServer chooses the tools of each backend; an item may have a `toolConfigRef`. */
const TOOLS = ['spec', 'config', 'aggregation', 'tools']

export function policyReferencesOf(resource: { readonly spec?: unknown }): PolicyReference[] {
  const found: PolicyReference[] = []
  const add = (kind: PolicyKind, at: readonly (string | number)[]) => {
    const name = valueAt(resource, at)
    if (typeof name === 'string' && name !== '') found.push({ kind, name, at })
  }
  for (const [kind, at] of FIELDS) add(kind, at)
  const tools = valueAt(resource, TOOLS)
  if (Array.isArray(tools))
    for (let i = 0; i < tools.length; i++) add('MCPToolConfig', [...TOOLS, i, 'toolConfigRef', 'name'])
  return found
}

/** Returns a function that lists the references of a resource to objects of this policy kind. */
export const policiesOf = (kind: PolicyKind) => (resource: { readonly spec?: unknown }) =>
  policyReferencesOf(resource).filter((reference) => reference.kind === kind)
