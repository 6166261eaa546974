/** Models of how kubectl, Argo CD and Flux apply a commit, as far as refusals matter. */
import type { ApiServer } from './api-server.ts'
import { apply, type Outcome, remove, type Resource, textOf } from './resources.ts'

/** The resources that were refused in each round of retries; `done` if a round had none. */
export interface Delivery {
  readonly done: boolean
  readonly refused: readonly (readonly string[])[]
}

/** Applies the resources of a commit and deletes those that it no longer contains. */
export type Deliver = (
  api: ApiServer,
  commit: readonly Resource[],
  gone?: readonly Resource[],
) => Promise<Delivery>

const ROUNDS = 5

/**
 * `kubectl apply -f DIR`: applies each file in order, and continues after failures. The user runs it again when it
 * failed. It deletes nothing.
 */
export const withKubectl: Deliver = (api, commit) =>
  inRounds(async () => {
    const list = { apiVersion: 'v1', kind: 'List', items: commit }
    const { code, stderr } = await api.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(list) })
    const refused = stderr.match(/^The \S+ "[^"]+" is invalid/gm) ?? []
    if (code !== 0 && refused.length === 0) throw new Error(stderr)
    return refused.map((line) => line.replace(/^The (\S+) "([^"]+)".*/, '$1/$2'))
  })

/** `kubectl apply` with the files in reverse order. */
export const withKubectlReversed: Deliver = (api, commit) => withKubectl(api, commit.toReversed())

/** Argo CD: first prunes, then applies all resources of a sync wave at once; it retries failures. */
export const withArgo: Deliver = (api, commit, gone = []) => {
  let left = commit
  return inRounds(async () => {
    await Promise.all(gone.map((resource) => remove(api, resource)))
    const outcomes = await Promise.all(left.map((resource) => apply(api, resource)))
    left = left.filter((_, i) => isRefused(outcomes[i]))
    return left.map(textOf)
  })
}

/**
 * Flux: a server-side dry run of all resources, then the apply, both in the order of kind and name; each stops at the
 * first refusal. It prunes last. It retries everything.
 */
export const withFlux: Deliver = (api, commit, gone = []) => {
  const ordered = commit.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1))
  return inRounds(async () => {
    for (const dryRun of [true, false]) {
      for (const resource of ordered) {
        if (isRefused(await apply(api, resource, { dryRun }))) return [textOf(resource)]
      }
    }
    await Promise.all(gone.map((resource) => remove(api, resource)))
    return []
  })
}

async function inRounds(round: () => Promise<readonly string[]>): Promise<Delivery> {
  const refused: (readonly string[])[] = []
  while (refused.length < ROUNDS) {
    const found = await round()
    if (found.length === 0) return { done: true, refused }
    refused.push(found)
  }
  return { done: false, refused }
}

/** Whether a webhook refused the write; throws for other failures, which are faults of the test. */
function isRefused(outcome: Outcome | undefined): boolean {
  const { status = 0, body } = outcome ?? {}
  if (status >= 300 && status !== 422) throw new Error(`${status}: ${body?.message ?? ''}`)
  return status === 422
}
