/** How people and their tools bring a commit into a cluster, as far as what is refused matters. */
import type { ApiServer } from './api-server.ts'
import { apply, type Outcome, remove, type Resource, textOf } from './resources.ts'

/** How it went: what was refused in each round, until a round in which nothing was. */
export interface Delivery {
  readonly done: boolean
  readonly refused: readonly (readonly string[])[]
}

/** Brings what a commit holds, and takes away what is no longer in it. */
export type Deliver = (
  api: ApiServer,
  commit: readonly Resource[],
  gone?: readonly Resource[],
) => Promise<Delivery>

const ROUNDS = 5

/**
 * `kubectl apply -f DIR`: each file in order, going on after failures; a person runs it again when it failed. It
 * deletes nothing.
 */
export const withKubectl: Deliver = (api, commit) =>
  inRounds(async () => {
    const list = { apiVersion: 'v1', kind: 'List', items: commit }
    const { code, stderr } = await api.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(list) })
    const refused = stderr.match(/^The \S+ "[^"]+" is invalid/gm) ?? []
    if (code !== 0 && refused.length === 0) throw new Error(stderr)
    return refused.map((line) => line.replace(/^The (\S+) "([^"]+)".*/, '$1/$2'))
  })

/** The same, with the files in the opposite order. */
export const withKubectlReversed: Deliver = (api, commit) => withKubectl(api, commit.toReversed())

/** Argo CD: first prunes, then everything of a wave at once; what failed is tried again. */
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
 * Flux: a server-side dry run of all, which ends at the first refusal; then all in the order of kind and name, which
 * ends at the first refusal as well; it prunes at the end. The whole is tried again.
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

/** Refused by a webhook; anything else is a fault of the test. */
function isRefused(outcome: Outcome | undefined): boolean {
  const { status = 0, body } = outcome ?? {}
  if (status >= 300 && status !== 422) throw new Error(`${status}: ${body?.message ?? ''}`)
  return status === 422
}
