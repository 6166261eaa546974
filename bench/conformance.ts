/**
 * Writes contributing/conformance.md from the recorded verdicts of test/golden/conformance and our verdicts of now. Run:
 * npm run conformance. With the word `worlds` it prints the corpus, a world a line, for those who record verdicts; with
 * `crds` it records what the CRDs of releases refuse of it, at a real API server (five minutes).
 */
import { writeFileSync } from 'node:fs'
import { startApiServer } from '../test/e2e/api-server.ts'
import { crdVerdicts } from '../test/e2e/crd-verdicts.ts'
import { comparedReleases, RECORDED } from '../test/support/conformance.ts'
import { conformancePage, PAGE, unusedExplanations } from '../test/support/conformance-page.ts'
import { worlds } from '../test/support/conformance-worlds.ts'

const inLines = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

if (process.argv[2] === 'worlds') {
  process.stdout.write(inLines(worlds()))
} else if (process.argv[2] === 'crds') {
  const api = await startApiServer()
  writeFileSync(RECORDED.crds, inLines(await crdVerdicts(api, comparedReleases(), worlds())))
  await api.stop()
} else {
  writeFileSync(PAGE, conformancePage())
  for (const unused of unusedExplanations()) process.stderr.write(`no longer a difference: ${unused}\n`)
}
