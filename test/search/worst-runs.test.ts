import t from 'tap'
import { CommandSearch, describeRun, problemOfRun } from '../support/worst-cases/command-search.ts'
import { LINES, outputsOf, runOf, WITHOUT_TREE } from '../support/worst-cases/command-plans.ts'
import { run } from '../support/worst-cases/running.ts'
import { COMMANDS } from '../../src/cli/commands.ts'

/** The number of runs in the search, which takes 40 to 60 seconds. */
const RUNS = 40

t.test('every command with every output is searched', (t) => {
  for (const name of COMMANDS.keys()) {
    const lines = [...LINES.values()].filter(([command]) => command === name)
    t.equal(lines.length > 0, !WITHOUT_TREE.includes(name), name)
    for (const output of lines.length > 0 ? outputsOf(name) : [])
      t.ok(
        lines.some((line) => output.every((word) => line.includes(word))),
        [name, ...output].join(' '),
      )
  }
  t.end()
})

t.test('a search among runs of the command finds none beyond its bounds', { timeout: 600_000 }, async (t) => {
  let left = RUNS
  const search = new CommandSearch(31, 'cpu', run)
  await search.run(() => (left -= 2) < 0)
  for (const judged of search.worst()) {
    const problem = problemOfRun(judged.result, runOf(judged.plan))
    if (problem !== undefined) t.fail(`${problem}: ${describeRun(judged)}`)
  }
  t.comment(search.worst().slice(0, 3).map(describeRun).join('\n'))
  t.equal(search.worst().length > 20, true, 'it went to many places')
})
