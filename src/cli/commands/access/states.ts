import { type Environment, UsageError } from '../../../configuration/flags.ts'
import { type Entry, entriesOf } from '../../../access/difference/entries.ts'
import type { DocumentReading } from '../../../documents/index.ts'
import { jsonKey } from '../../../rule/index.ts'
import { readDocuments } from '../../input/documents.ts'
import { readRevision } from '../../input/git.ts'
import { printEmpty, printLines, readOptions } from '../../input/reading.ts'
import type { Documents } from '../../input/texts.ts'
import { readState, readTwoStates } from '../../input/two-states.ts'
import { IN_CLUSTER, type Located, type Unread } from '../../output/report.ts'
import type { Flags } from './flags.ts'

/** Both states, and what of them could not be read. */
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
  environment: Environment,
): Promise<States> {
  const [old, now] = names
  if (old === undefined || now === undefined || names.length > 2)
    throw new UsageError('name the old and the new state: files, folders, or revisions such as git:main')
  const reading = readingOf(flags, 'default')
  const [before, after] = await readTwoStates(old, now, readOptions(flags, environment))
  const notJudged = [...before.notJudged, ...after.notJudged]
  printLines(notJudged)
  const unread = [...before.unread, ...after.unread, ...printEmpty([before, after])]
  const [oldEntries, newEntries] = [entriesIn(before, reading), entriesIn(after, reading)]
  return { old: oldEntries, new: newEntries, unread, notJudged, placeOf: placesIn(after, newEntries) }
}

/** What decides access in one state, of files or of a revision. */
export async function oneState(
  names: readonly string[],
  flags: Flags,
  environment: Environment,
): Promise<Pick<States, 'unread'> & { readonly entries: readonly Entry[] }> {
  const [first] = names
  if (first === undefined)
    throw new UsageError('name the state: files, folders, or a revision such as git:main')
  const isRevision = readRevision(first) !== undefined
  if (isRevision && names.length > 1) throw new UsageError('name one revision, or files and folders')
  const documents = isRevision
    ? await readState(first, '.', readOptions(flags, environment))
    : await readDocuments(names, readOptions(flags, environment))
  printLines(documents.notJudged)
  const unread = [...documents.unread, ...printEmpty([documents])]
  return { entries: entriesIn(documents, readingOf(flags, 'default')), unread }
}

export async function overCluster(
  names: readonly string[],
  flags: Flags,
  environment: Environment,
): Promise<States> {
  if (names.length === 0)
    throw new UsageError('name the files or folders of the new state: access --cluster FILE|DIRECTORY')
  const documents = await readDocuments(names, readOptions(flags, environment))
  printLines(documents.notJudged)
  const { readOverlay } = await import('../../input/overlay.ts')
  const { kubeconfig, namespace, 'api-group': group } = flags
  const asked = { group, namespace, kubeconfig, secrets: false, strict: false }
  const { live, reading, get } = await readOverlay(documents, asked, environment)
  const now = entriesIn(documents, reading)
  // An apply deletes nothing, so objects that no file names stay as they are.
  const stored = now.map((entry) => get(entry)).filter((value) => value !== undefined)
  const old = entriesOf([...new Set(stored)], reading)
  const unread = [
    ...live.unread.map((message) => ({ ...IN_CLUSTER, message })),
    ...documents.unread,
    ...printEmpty([documents]),
  ]
  const { notJudged } = documents
  return { old, new: now, unread, notJudged, placeOf: placesIn(documents, now) }
}

const readingOf = ({ 'api-group': group, namespace }: Flags, fallback: string): DocumentReading => ({
  group,
  namespace: namespace || fallback,
  strict: false,
})

const entriesIn = ({ documents }: Documents, reading: DocumentReading): Entry[] =>
  entriesOf(
    documents.map(({ document }) => document.value),
    reading,
  )

/** The places of the new entries; an entry of the old state has none any more. */
function placesIn({ documents }: Documents, entries: readonly Entry[]): States['placeOf'] {
  const now = new Set(entries)
  return (entry) => {
    const found = documents[entry.document]
    if (found === undefined || !now.has(entry)) return IN_CLUSTER
    return { file: found.file, ...found.document.locate(entry.at.map(jsonKey), 'key') }
  }
}
