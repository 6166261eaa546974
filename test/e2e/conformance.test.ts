import root from 'tap'
import { comparedReleases, minorOf, recordedRefusals } from '../support/conformance.ts'
import { worlds } from '../support/conformance-worlds.ts'
import { crdVerdicts } from './crd-verdicts.ts'
import { withApiServer } from './suite.ts'

/** Recorded releases to compare; each takes ten seconds. */
const ASKED = comparedReleases(['0.26', '0.44', '0.63'])

/**
 * Compares the recorded refusals of contributing/conformance.md with those of a real API server with the CRDs of
 * releases.
 */
await withApiServer(root, async (t, api) => {
  t.equal(ASKED.length, 3)
  const recorded = recordedRefusals()
  // Objects that were added after the recording are left out.
  const known = worlds().filter(({ id }) => recorded.has(id))
  t.ok(known.length > 1_000, `${known.length} worlds are recorded`)
  const asked = new Set(ASKED.map(({ version }) => minorOf(version)))
  t.strictSame(
    await crdVerdicts(api, ASKED, known),
    known.map(({ id }) => ({ id, refusedBy: recorded.get(id)?.filter((minor) => asked.has(minor)) })),
    'npm run conformance -- crds records them again',
  )
})
