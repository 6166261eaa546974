import { examplesAt, type PlacedExample, type RulePlace, rulePlaces } from '../../src/kinds/places.ts'
import type { Answer, ApiServer } from './api-server.ts'
import { pathOf } from './cluster.ts'

/** An example of a rule, with its place. */
export interface RuleExample extends PlacedExample {
  readonly place: RulePlace
}

/** The `metav1.Status` that the body is when a request is refused; its fields are absent otherwise. */
export interface Status {
  readonly message?: string
  readonly reason?: string
  readonly details?: {
    readonly group?: string
    readonly kind?: string
    readonly name?: string
    readonly causes?: readonly { readonly reason: string; readonly field: string; readonly message: string }[]
  }
}

/**
 * The examples of all rules about one object, at every place where the rule applies; without examples of updates, and
 * without rules that need a known release.
 */
export function ruleExamples(): RuleExample[] {
  return rulePlaces().flatMap((place) => {
    const { rule, kind } = place
    if (rule.reads.length > 0 || rule.appliesTo?.from !== undefined) return []
    const created = examplesAt(place).filter(({ old }) => old === undefined)
    return created.map((example, i) => ({
      ...example,
      place,
      title: `${rule.id} on ${kind.kind}: ${example.title}`,
      resource: named(example.resource, `${kind.plural}-${rule.id}-${i}`),
    }))
  })
}

/** The resource with the name, unless the example is about another name than `example`, which most have. */
const named = (resource: Record<string, unknown>, name: string) => {
  const metadata = resource.metadata as { readonly name?: string }
  return metadata.name === 'example' ? { ...resource, metadata: { ...metadata, name } } : resource
}

/** Sends all examples as dry runs, a few at a time; the answers have the order of the examples. */
export async function dryRunAll(
  api: ApiServer,
  examples: readonly RuleExample[],
): Promise<{ readonly example: RuleExample; readonly answer: Answer<Status> }[]> {
  return inBatches(examples, async (example) => ({
    example,
    answer: await api.request<Status>('POST', `${pathOf(example.place.kind)}?dryRun=All`, example.resource),
  }))
}

/** The results of `work` for each item in order; at most `atOnce` calls run at the same time. */
export async function inBatches<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce = 10,
): Promise<R[]> {
  const results: R[] = []
  for (let i = 0; i < items.length; i += atOnce) {
    results.push(...(await Promise.all(items.slice(i, i + atOnce).map(work))))
  }
  return results
}

/** The warning of the webhook for a finding, as the API server passes it on: cut to 256 characters, with the id. */
export function warningOf({ kind, rule }: RulePlace, name: string, finding: string): string {
  const shown = name.length <= 63 ? name : `${name.slice(0, 63)}…`
  const text = `${kind.kind} ${shown}: ${finding}`
  const end = `… (${rule.id})`
  return text.length <= 256 ? text : text.slice(0, 256 - end.length) + end
}
