import { stateOf } from '../../src/documents/given-objects.ts'
import { DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { refusals, type Release } from '../../src/release/index.ts'
import { knownReleases } from '../../test/support/releases.ts'
import { fileOf, judgeOf } from '../../test/support/review.ts'
import { goAnswers, moduleVersion } from '../go.ts'
import { type Compare, Tally } from './comparison.ts'
import { objectWriter } from './objects.ts'
import { several } from './random.ts'

const PROGRAM = { folder: 'bench/go-webhook', pkg: './validate' }
const VERSION = '0.63'
const READING = { group: DEFAULT_API_GROUP, namespace: 'default', strict: true }

const WARNED = 'a warning of ours: the CRD takes it, or the field is of a newer release (decision 3)'

/**
 * The operator's own Validate(): what it refuses, we refuse, where the release is named. The outcomes count by rule what
 * only we refuse, in objects that the CRD of the release takes.
 */
export const compareOperator: Compare = async (count, seed) => {
  const known = knownReleases().find(({ version }) => version.startsWith(`${VERSION}.`))
  if (known === undefined) throw new Error(`release ${VERSION} is not known`)
  const schemas = new Map(Object.entries(known.schemas))
  const release: Release = { name: `operator release ${VERSION}`, version: VERSION, schemas }
  const objects = several(count, objectWriter(schemas, seed))
  const answers = await goAnswers(
    PROGRAM,
    objects.map(({ object }) => JSON.stringify(object)),
  )
  const tally = new Tally()
  for (const [i, { kind, object }] of objects.entries()) {
    const theirs = answers[i] ?? ''
    const judge = judgeOf({ state: stateOf([object], READING), release })
    const { errors, warnings } = judge.file(fileOf(object))
    const isRefused = !['valid', 'no Validate', 'unread'].includes(theirs)
    if (isRefused) tally.came('refused by Validate()')
    else if (theirs !== 'valid') tally.came(theirs)
    else if (errors.length === 0) tally.came('valid for both')
    else if (takes(schemas.get(kind), object))
      for (const id of new Set(errors.map((error) => error.id))) tally.came(`only we: ${id}`)
    else tally.came('refused by the CRD and by us')
    if (!isRefused || errors.length > 0) continue
    if (warnings.length > 0) tally.explained(WARNED)
    else tally.different(JSON.stringify({ theirs, object }))
  }
  const against = `toolhive ${moduleVersion(PROGRAM, 'github.com/stacklok/toolhive')}, Validate()`
  return [tally.result('Operator', against, objects.length)]
}

const takes = (schema: Parameters<typeof refusals>[0] | undefined, object: object): boolean =>
  schema === undefined || [...refusals(schema, object)].every(({ keyword }) => keyword === 'unknown')
