import { group, oidcConfig } from '../../src/relations/examples.ts'
import { isPolicyKind } from '../../src/relations/policy-kinds.ts'
import { examplesAt, type PlacedExample, type RulePlace, rulePlaces } from '../../src/kinds/places.ts'
import type { Rule } from '../../src/rule/rule.ts'
import { type Resource, resourceIn, textOf } from '../e2e/resources.ts'

/** The namespace of an example's resources that are not in the namespace of the example itself. */
export const SHARED = 'shared'
/**
 * Rules that read only one VirtualMCPServer, but whose examples are submitted with those of rules between resources.
 */
const OF_ONE_GATEWAY = ['auth-server-incoming-auth-oidc', 'outgoing-auth-inline-configured']

/** Resources that examples refer to without including them, because the rule of the example does not read them. */
const SETTING = [
  group(),
  oidcConfig('corporate'),
  oidcConfig('tools'),
  secret('auth', 'signing-key', 'hmac'),
  secret('redis', 'username', 'password'),
  secret('okta', 'client-secret'),
]

const INTRODUCTION = `Each rule between resources, on each kind, as a person meets it: the first example of docs/rules
that is denied or warned about, submitted beside the other resources of the example.
`

/** The golden file with the output of kubectl for the examples with `isShown`. */
export const RULES_SHOWN = 'between/rules.txt'
export const rulesShown = (
  sections: readonly { readonly title: string; readonly answer: string }[],
): string =>
  [INTRODUCTION, ...sections.map(({ title, answer }) => `# ${title}\n\n${answer}`).toSorted()].join('\n')

/** An example of a rule between resources, moved to a namespace of its own. */
export interface Placed extends PlacedExample {
  readonly resource: Resource & Record<string, unknown>
  readonly place: RulePlace
  readonly namespace: string
  /** The resources that are stored before the example is submitted. */
  readonly before: readonly Resource[]
  /** Whether kubectl submits the example, and the golden file holds the output. */
  readonly isShown: boolean
}

export function isShownHere({ id, reads, when, appliesTo }: Rule): boolean {
  // The server of these tests does not know the operator release.
  if (appliesTo?.from !== undefined && appliesTo.orUnknown !== true) return false
  // The webhook does not read the resources that hold policies.
  if (reads.length > 0 && reads.every(isPolicyKind)) return false
  return reads.length > 0 || when === 'delete' || OF_ONE_GATEWAY.includes(id)
}

/** Whether the API server of the tests has the kinds of all these resources: it lacks only MCPAuthzConfig. */
export function canBeStored(others: readonly unknown[]): boolean {
  return others.every((other) => (other as Resource).kind !== 'MCPAuthzConfig')
}

/** All examples; `isShown` is true for the first one of each rule and kind that has findings. */
export function placedExamples(): Placed[] {
  const places = rulePlaces().filter(({ rule }) => isShownHere(rule))
  const examples = places.flatMap((place) => {
    const all = examplesAt(place)
    const first = all.find((example) => example.findings.length > 0 && canBeStored(example.others))
    return all.map((example) => ({ ...example, place, isShown: example === first }))
  })
  return examples.map((example, i) => {
    const { place, isShown, old, resource, others, findings } = example
    const namespace = isShown ? `${place.rule.id}-${place.kind.kind.toLowerCase()}`.slice(0, 63) : `e${i}`
    const here = (resource: unknown) => inNamespace(resource as Resource, namespace)
    const first = place.rule.when === 'delete' ? resource : old
    const around = others.map(here)
    return {
      ...example,
      title: `${place.rule.id} on ${place.kind.kind}: ${example.title}`,
      namespace,
      resource: { ...here(resource) },
      before: [
        ...around,
        ...(isShown && !expectsNowhere(example) ? settingBeside(around, namespace) : []),
        ...(first === undefined ? [] : [asApplied(here(first))]),
      ],
      findings: findings.map((text) => text.replaceAll("namespace 'default'", `namespace '${namespace}'`)),
    }
  })
}

function secret(name: string, ...keys: readonly string[]) {
  const stringData = Object.fromEntries(keys.map((key) => [key, 'x'.repeat(32)]))
  return { kind: 'Secret', metadata: { name }, stringData }
}

/** The resources of SETTING, except those with the same kind and name as a given one. */
function settingBeside(given: readonly Resource[], namespace: string): Resource[] {
  const names = new Set(given.map(textOf))
  return SETTING.map((object) => resourceIn(namespace, object)).filter(
    (resource) => !names.has(textOf(resource)),
  )
}

/** The resource with the last-applied annotation that `kubectl apply` stores. */
export function asApplied(resource: Resource): Resource {
  const { metadata } = resource
  const lastApplied = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(resource) }
  return { ...resource, metadata: { ...metadata, annotations: { ...metadata.annotations, ...lastApplied } } }
}

/** Moves the resource into the namespace, unless the example puts it into SHARED. */
function inNamespace(resource: Resource, namespace: string): Resource {
  const { metadata } = resource
  const isShared = metadata.namespace === SHARED
  return { ...resource, metadata: { ...metadata, namespace: isShared ? SHARED : namespace } }
}

/**
 * Whether the example expects that no namespace has the resource to which it refers. Such an example must be submitted
 * before other examples create a resource with that name.
 */
export function expectsNowhere({ place, findings }: Pick<Placed, 'place' | 'findings'>): boolean {
  return place.rule.id === 'reference-found' && findings.some((text) => text.includes(' yet ('))
}
