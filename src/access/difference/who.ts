import type { Budget } from '../../rule/index.ts'
import type { Generation } from '../../kinds/mcp-external-auth-config/generations.ts'
import { COMPARISON } from './compare.ts'
import type { Entry } from './entries.ts'
import { type Grant, grantsOf } from './grants.ts'
import { choiceOf, type ForReleases, grouped } from './states.ts'

export type { Grant } from './grants.ts'

/** Finds, by operator release, the callers to whom an `awsSts` or a policy grants a wanted access, such as a role. */
export function whoGets(
  entry: Entry,
  isAsked: (access: string) => boolean,
  generations: readonly Generation[],
  budget: Budget,
): (Grant & ForReleases)[] {
  const found: { readonly generation: Generation; readonly values: readonly Grant[] }[] = []
  for (const generation of generations.toReversed()) {
    const callers = (found[0]?.values ?? []).flatMap(({ answer }) =>
      answer.is === 'somebody' ? [answer.example] : [],
    )
    const values = grantsOf(choiceOf(entry, generation), isAsked, {
      budget: budget.part(COMPARISON),
      callers,
      callerTokens: entry.callerTokens,
    })
    found.push({ generation, values })
  }
  return grouped(found)
}
