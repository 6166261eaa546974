import { isDeepStrictEqual } from 'node:util'
import { toValue } from '../../src/cli/input/nodes.ts'
import { readYaml } from '../../src/cli/input/yaml-nodes.ts'
import { goAnswers, moduleVersion } from '../go.ts'
import { type Compare, Tally } from './comparison.ts'
import { several } from './random.ts'
import { DocumentWriter } from './yaml-documents.ts'

type Outcome = { readonly json: unknown } | { readonly error: string }

/** Reads YAML documents as kubectl does; a difference that is worth keeping becomes a row of test/golden/yaml-scalars.json. */
const PROGRAM = { folder: 'bench/parity/read-yaml' }

const REFUSED_HERE =
  'a document that kubectl reads in a way that nobody means: we refuse it and say what to write'

const READ_HERE =
  'an anchor with nothing behind it, where a comma is missing: kubectl refuses the file loudly'
const LONE_ANCHOR = /&\w+[ \t\n]*[,\]}]/

/** What becomes of a YAML document, with the library of kubectl and with ours. */
export const compareYaml: Compare = async (count, seed) => {
  const writer = new DocumentWriter(seed)
  const documents = several(count, () => writer.document()).filter(
    // A line that begins with --- or ... ends a document before the library sees it, or after the first.
    (document) => !/^(---|\.\.\.)/m.test(document),
  )
  const answers = await goAnswers(
    PROGRAM,
    documents.map((document) => JSON.stringify(document)),
  )
  const tally = new Tally()
  for (const [i, document] of documents.entries()) {
    const theirs = JSON.parse(answers[i] ?? '') as Outcome
    const ours = here(document)
    tally.came('error' in theirs ? 'refused' : 'read')
    if (isDeepStrictEqual(comparable(theirs), comparable(ours))) continue
    if ('error' in ours && !('error' in theirs)) tally.explained(REFUSED_HERE)
    else if ('error' in theirs && LONE_ANCHOR.test(document)) tally.explained(READ_HERE)
    else tally.different(JSON.stringify({ document, theirs, ours }))
  }
  const against = `sigs.k8s.io/yaml ${moduleVersion(PROGRAM, 'sigs.k8s.io/yaml')}`
  return [tally.result('YAML', against, documents.length)]
}

function here(document: string): Outcome {
  try {
    return { json: toValue(readYaml(document, 0).node) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

/** kubectl refuses a document that is a text or a number, too. */
const comparable = (outcome: Outcome): unknown =>
  'json' in outcome && typeof outcome.json === 'object' ? JSON.parse(JSON.stringify(outcome.json)) : 'error'
