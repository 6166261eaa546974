import { type Environment, UsageError } from '../../../configuration/flags.ts'
import { type Entry, entriesOf, subjectsIn } from '../../../access/difference/entries.ts'
import { pairsOf } from '../../../access/difference/states.ts'
import { areSameCallers } from '../../../access/role/caller-tokens.ts'
import { type DocumentReading, stateOf } from '../../../documents/index.ts'
import type { ClusterState } from '../../../state/index.ts'
import { jsonKey, objectKey } from '../../../rule/index.ts'
import { printLines, readOptions } from '../../input/reading.ts'
import type { Documents } from '../../input/texts.ts'
import { openFiles, openOverlay, openTwoStates } from '../../input/world.ts'
import { IN_CLUSTER, type Located, type Unread } from '../../output/report.ts'
import { repetitionNotes } from '../judge-documents.ts'
import { gatewayRelease } from '../role/config.ts'
import type { Flags } from './flags.ts'

/** The role mappings and access policies of an old and a new state, and the files or objects that could not be read. */
export interface States {
  readonly old: readonly Entry[]
  readonly new: readonly Entry[]
  readonly unread: readonly Unread[]
  readonly notJudged: readonly Located[]
  /** Notes about resources that the documents of one state contain more than once. */
  readonly notes: readonly Located[]
  placeOf(entry: Entry): { readonly file: string | null; readonly line: number; readonly column: number }
}

export async function twoStates(
  names: readonly string[],
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<States> {
  const { before, after, unread } = await openTwoStates(names, readOptions(flags, environment))
  const [old, now] = [entriesIn(before, reading, flags), entriesIn(after, reading, flags)]
  const notJudged = [...before.notJudged, ...after.notJudged]
  const notes = [...printRepetitions(before, reading), ...printRepetitions(after, reading)]
  return { old, new: now, unread, notJudged, notes, placeOf: placesIn(after, now) }
}

/** Reads the role mappings and access policies of one state, from files and folders or from a git revision. */
export async function oneState(
  names: readonly string[],
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<Pick<States, 'unread'> & { readonly entries: readonly Entry[] }> {
  if (names.length === 0)
    throw new UsageError('name the state: files, folders, or a revision such as git:main')
  const { documents, unread } = await openFiles(names, readOptions(flags, environment))
  printRepetitions(documents, reading)
  return { entries: entriesIn(documents, reading, flags), unread }
}

/**
 * Reads the files, and the cluster as the old state. Besides the objects in the files, which an apply changes, counts
 * each stored MCPExternalAuthConfig whose callers an apply changes, for example by the gateway in front of it.
 */
export async function overCluster(
  names: readonly string[],
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<States> {
  if (names.length === 0)
    throw new UsageError('name the files or folders of the new state: access --cluster FILE|DIRECTORY')
  const { documents, unread, live, get, before, after, ...overlay } = await openOverlay(
    names,
    readOptions(flags, environment),
    flags,
    reading,
    environment,
  )
  const given = subjectsIn(valuesOf(documents), overlay.reading)
  const inState = (values: readonly unknown[], state: ClusterState) =>
    entriesOf(values, overlay.reading, state, gatewayRelease(flags.release))
  const now = inState(valuesOf(documents), after)
  const isGiven = new Set(given.map(objectKey))
  const others = live.objects
    .filter(({ kind: { kind }, namespace, name }) => !isGiven.has(objectKey({ kind, namespace, name })))
    .map(({ value }) => value)
  const reached = pairsOf(inState(others, before), inState(others, after)).filter(
    (pair) => pair.old && pair.new && !areSameCallers(pair.old.callerTokens, pair.new.callerTokens),
  )
  return {
    old: [...inState(given.map(get), before), ...reached.flatMap((pair) => pair.old ?? [])],
    new: [...now, ...reached.flatMap((pair) => pair.new ?? [])],
    unread,
    notJudged: documents.notJudged,
    notes: printRepetitions(documents, overlay.reading),
    placeOf: placesIn(documents, now),
  }
}

const valuesOf = ({ documents }: Documents): readonly unknown[] =>
  documents.map(({ document }) => document.value)

function entriesIn(documents: Documents, reading: DocumentReading, { release }: Flags): Entry[] {
  const values = valuesOf(documents)
  return entriesOf(values, reading, stateOf(values, reading), gatewayRelease(release))
}

/** Prints a note for each resource that a later document contains too, and returns the notes. */
function printRepetitions(documents: Documents, reading: DocumentReading): Located[] {
  const keyOf = (value: unknown) => entriesOf([value], reading).map(objectKey)[0]
  const notes = repetitionNotes(documents, keyOf, 'only the last one counts')
  printLines(notes.map((note) => ({ ...note, message: `note: ${note.message}` })))
  return notes
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
