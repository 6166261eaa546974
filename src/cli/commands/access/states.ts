import { type Environment, UsageError } from '../../../configuration/flags.ts'
import { type Entry, entriesOf, subjectsIn } from '../../../access/difference/entries.ts'
import { type DocumentReading, stateOf } from '../../../documents/index.ts'
import { jsonKey } from '../../../rule/index.ts'
import { readRevision } from '../../input/git.ts'
import { readOptions } from '../../input/reading.ts'
import type { Documents } from '../../input/texts.ts'
import { openFiles, openOverlay, openState, openTwoStates } from '../../input/world.ts'
import { IN_CLUSTER, type Located, type Unread } from '../../output/report.ts'
import type { Flags } from './flags.ts'

/** The role mappings and access policies of an old and a new state, and the files or objects that could not be read. */
export interface States {
  readonly old: readonly Entry[]
  readonly new: readonly Entry[]
  readonly unread: readonly Unread[]
  readonly notJudged: readonly Located[]
  placeOf(entry: Entry): { readonly file: string | null; readonly line: number; readonly column: number }
}

export async function twoStates(
  names: readonly string[],
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<States> {
  const { before, after, unread } = await openTwoStates(names, readOptions(flags, environment))
  const [old, now] = [entriesIn(before, reading), entriesIn(after, reading)]
  const notJudged = [...before.notJudged, ...after.notJudged]
  return { old, new: now, unread, notJudged, placeOf: placesIn(after, now) }
}

/** Reads the role mappings and access policies of one state, from files and folders or from a git revision. */
export async function oneState(
  names: readonly string[],
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<Pick<States, 'unread'> & { readonly entries: readonly Entry[] }> {
  const [first] = names
  if (first === undefined)
    throw new UsageError('name the state: files, folders, or a revision such as git:main')
  const isRevision = readRevision(first) !== undefined
  if (isRevision && names.length > 1) throw new UsageError('name one revision, or files and folders')
  const { documents, unread } = isRevision
    ? await openState(first, readOptions(flags, environment))
    : await openFiles(names, readOptions(flags, environment))
  return { entries: entriesIn(documents, reading), unread }
}

export async function overCluster(
  names: readonly string[],
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<States> {
  if (names.length === 0)
    throw new UsageError('name the files or folders of the new state: access --cluster FILE|DIRECTORY')
  const { documents, unread, get, before, after, ...overlay } = await openOverlay(
    names,
    readOptions(flags, environment),
    flags,
    reading,
    environment,
  )
  const now = entriesOf(valuesOf(documents), overlay.reading, after)
  // Only the stored versions of the objects in the files: an apply leaves all other objects unchanged.
  const stored = subjectsIn(valuesOf(documents), overlay.reading).map(get)
  const old = entriesOf(stored, overlay.reading, before)
  const { notJudged } = documents
  return { old, new: now, unread, notJudged, placeOf: placesIn(documents, now) }
}

const valuesOf = ({ documents }: Documents): readonly unknown[] =>
  documents.map(({ document }) => document.value)

function entriesIn(documents: Documents, reading: DocumentReading): Entry[] {
  const values = valuesOf(documents)
  return entriesOf(values, reading, stateOf(values, reading))
}

/** Returns a function that finds the place of an `awsSts` or policy in its file; `IN_CLUSTER` for the old state. */
function placesIn({ documents }: Documents, entries: readonly Entry[]): States['placeOf'] {
  const now = new Set(entries)
  return (entry) => {
    const found = documents[entry.document]
    if (found === undefined || !now.has(entry)) return IN_CLUSTER
    return { file: found.file, ...found.document.locate(entry.at.map(jsonKey), 'key') }
  }
}
