import { group, oidcConfig } from '../../src/relations/examples.ts'
import { isPolicyKind } from '../../src/relations/policy-kinds.ts'
import { examplesAt, type PlacedExample, type RulePlace, rulePlaces } from '../../src/kinds/places.ts'
import type { Rule } from '../../src/rule/rule.ts'
import { type Resource, resourceIn, textOf } from '../e2e/resources.ts'

/** The other namespace of examples. */
export const SHARED = 'shared'
/** Rules about how the parts of one VirtualMCPServer fit, which read nothing else. */
const OF_ONE_GATEWAY = ['auth-server-incoming-auth-oidc', 'outgoing-auth-inline-configured']

/** What many examples name and leave out, because their rule does not read it. */
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

/** The golden text of what kubectl prints of the shown examples. */
export const RULES_SHOWN = 'between/rules.txt'
export const rulesShown = (
  sections: readonly { readonly title: string; readonly answer: string }[],
): string =>
  [INTRODUCTION, ...sections.map(({ title, answer }) => `# ${title}\n\n${answer}`).toSorted()].join('\n')

/** An example of a rule between resources, in a namespace of its own. */
export interface Placed extends PlacedExample {
  readonly resource: Resource & Record<string, unknown>
  readonly place: RulePlace
  readonly namespace: string
  /** What is stored before. */
  readonly before: readonly Resource[]
  /** Whether kubectl submits the example, and the golden text holds the output of kubectl. */
  readonly isShown: boolean
}

export function isShownHere({ id, reads, when, appliesTo }: Rule): boolean {
  // No release is known here.
  if (appliesTo?.from !== undefined && appliesTo.orUnknown !== true) return false
  // The server does not look policies up.
  if (reads.length > 0 && reads.every(isPolicyKind)) return false
  return reads.length > 0 || when === 'delete' || OF_ONE_GATEWAY.includes(id)
}

/** Whether the API server of the tests has the kinds: it has no MCPAuthzConfig, which the webhook does not read. */
export function canBeStored(others: readonly unknown[]): boolean {
  return others.every((other) => (other as Resource).kind !== 'MCPAuthzConfig')
}

/** Every example; the first one with findings of each rule on each kind is shown. */
export function placedExamples(): Placed[] {
  const places = rulePlaces().filter(({ rule }) => isShownHere(rule))
  const examples = places.flatMap((place) => {
    const all = examplesAt(place)
    const first = all.find((example) => example.findings.length > 0 && canBeStored(example.others))
    return all.map((example) => ({ ...example, place, isShown: example === first }))
  })
  return examples.map((example, i) => {
    const { place, isShown, old, resource, others, findings } = example
    const namespace = isShown ? `${place.rule.id}-${place.kind.kind.toLowerCase()}` : `e${i}`
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

/** The setting without what is given. */
function settingBeside(given: readonly Resource[], namespace: string): Resource[] {
  const names = new Set(given.map(textOf))
  return SETTING.map((object) => resourceIn(namespace, object)).filter(
    (resource) => !names.has(textOf(resource)),
  )
}

/** The resource as `kubectl apply` stores it. */
export function asApplied(resource: Resource): Resource {
  const { metadata } = resource
  const lastApplied = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(resource) }
  return { ...resource, metadata: { ...metadata, annotations: { ...metadata.annotations, ...lastApplied } } }
}

/** The resource in the namespace, unless its example puts it in another one than that of the example. */
function inNamespace(resource: Resource, namespace: string): Resource {
  const { metadata } = resource
  const isShared = metadata.namespace === SHARED
  return { ...resource, metadata: { ...metadata, namespace: isShared ? SHARED : namespace } }
}

/** Those come first that expect that no other namespace has a resource of some name. */
export function expectsNowhere({ place, findings }: Pick<Placed, 'place' | 'findings'>): boolean {
  return place.rule.id === 'reference-found' && findings.some((text) => text.includes(' yet ('))
}
