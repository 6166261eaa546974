/**
 * Writes docs/conformance.md from the recorded verdicts of test/golden/conformance and our verdicts of now. Run:
 * npm run conformance. With the word `worlds` it prints the corpus, a world a line, for those who record verdicts.
 */
import { writeFileSync } from 'node:fs'
import { conformancePage, PAGE, unusedExplanations } from '../test/support/conformance-page.ts'
import { worlds } from '../test/support/conformance-worlds.ts'

if (process.argv[2] === 'worlds') {
  for (const world of worlds()) process.stdout.write(`${JSON.stringify(world)}\n`)
} else {
  writeFileSync(PAGE, conformancePage())
  for (const unused of unusedExplanations()) process.stderr.write(`no longer a difference: ${unused}\n`)
}
