import root from 'tap'
import { comparedReleases, minorOf, recordedRefusals } from '../support/conformance.ts'
import { worlds } from '../support/conformance-worlds.ts'
import { crdVerdicts } from './crd-verdicts.ts'
import { withApiServer } from './suite.ts'

/** Each of the recorded releases takes ten seconds. */
const ASKED = comparedReleases(['0.26', '0.44', '0.63'])

/** What the CRDs of releases refuse of the corpus of contributing/conformance.md, at a real API server. */
await withApiServer(root, async (t, api) => {
  t.equal(ASKED.length, 3)
  const recorded = recordedRefusals()
  // A world that is newer than the recording is in nobody's way.
  const known = worlds().filter(({ id }) => recorded.has(id))
  t.ok(known.length > 1_000, `${known.length} worlds are recorded`)
  const asked = new Set(ASKED.map(({ version }) => minorOf(version)))
  t.strictSame(
    await crdVerdicts(api, ASKED, known),
    known.map(({ id }) => ({ id, refusedBy: recorded.get(id)?.filter((minor) => asked.has(minor)) })),
    'npm run conformance -- crds records them again',
  )
})
