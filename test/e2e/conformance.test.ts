import { writeFile } from 'node:fs/promises'
import root from 'tap'
import { kindNamed } from '../../src/kinds/index.ts'
import { comparedReleases, minorOf, RECORDED, recordedRefusals } from '../support/conformance.ts'
import { worlds } from '../support/conformance-worlds.ts'
import { pathOf } from './cluster.ts'
import { installRelease } from './release-crds.ts'
import { inBatches, type Status } from './rule-examples.ts'
import { withApiServer } from './suite.ts'

const UPDATE = process.env.UPDATE_GOLDEN === '1'
/** All of the page are recorded; the recording is compared for these. */
const ASKED = comparedReleases(UPDATE ? undefined : ['0.26', '0.44', '0.63'])

/** What the CRDs of releases refuse of the corpus of docs/conformance.md, at a real API server. */
await withApiServer(root, async (t, api) => {
  const all = worlds()
  // Many worlds differ in the other objects alone.
  const objects = new Map(all.map(({ object }) => [JSON.stringify(object), object]))
  const refused = new Map(all.map(({ id }) => [id, [] as string[]]))
  for (const release of ASKED) {
    await installRelease(api, release)
    const answers = await inBatches([...objects], async ([text, object]) => {
      const path = pathOf(kindNamed.get(object.kind as string) ?? { plural: '' })
      const strict = `${path}?dryRun=All&fieldValidation=Strict`
      return [text, (await api.request<Status>('POST', strict, object)).status] as const
    })
    const statuses = new Map(answers)
    t.strictSame(
      [...new Set(statuses.values())].filter((status) => ![201, 400, 422].includes(status)),
      [],
      'every object is judged',
    )
    for (const { id, object } of all)
      if (statuses.get(JSON.stringify(object)) !== 201) refused.get(id)?.push(minorOf(release.version))
  }
  const rows = all.map(({ id }) => ({ id, refusedBy: refused.get(id) ?? [] }))
  if (UPDATE) await writeFile(RECORDED.crds, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  // A world that is newer than the recording is in nobody's way.
  const recorded = recordedRefusals()
  const asked = new Set(ASKED.map(({ version }) => minorOf(version)))
  const known = rows.filter(({ id }) => recorded.has(id))
  t.ok(known.length > 1_000, `${known.length} of ${rows.length} worlds are recorded`)
  t.strictSame(
    known.filter(
      ({ id, refusedBy }) =>
        String(recorded.get(id)?.filter((minor) => asked.has(minor))) !== String(refusedBy),
    ),
    [],
    'UPDATE_GOLDEN=1 records them again',
  )
})
