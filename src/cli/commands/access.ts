import { existsSync } from 'node:fs'
import { type Flag, choice, readFlags, text, UsageError, type Values } from '../../configuration/flags.ts'
import { JUDGING_FLAGS } from '../../configuration/judging.ts'
import { type Entry, entriesOf } from '../../access/difference/entries.ts'
import {
  differenceOf,
  entryOf,
  outcomesFor,
  type Pair,
  pairsOf,
  type PartDifference,
} from '../../access/difference/states.ts'
import { type Generation, generationsOf, readRelease } from '../../access/role/releases.ts'
import type { Reading } from '../../review/given-objects.ts'
import { jsonKey } from '../../rule/path.ts'
import { CLUSTER_FLAGS, needCluster } from '../input/cluster-flags.ts'
import { readDocuments } from '../input/documents.ts'
import type { Documents } from '../input/texts.ts'
import { readRevision, readRevisionDocuments } from '../input/git.ts'
import { printEmpty, printLines, printUnread, READING_FLAGS, readOptions } from '../input/reading.ts'
import { loadClaims } from './role/load-claims.ts'
import {
  accessFindings,
  accessJson,
  accessMarkdown,
  accessPage,
  callersJson,
  callersText,
  type AccessReport,
  type Denied,
} from '../output/access.ts'
import { EXIT, IN_CLUSTER, type Unread as UnreadLine } from '../output/report.ts'
import { printSarif } from '../output/sarif.ts'
import { terminalOf } from '../output/terminal.ts'
import { Unread } from './role/config.ts'

const texts = (help: string, argument: string): Flag<readonly string[]> => ({
  help,
  argument,
  repeated: true,
  fallback: [],
  read: (written, before) => {
    if (written.trim() === '') throw new Error('a value is missing')
    return [...before, written]
  },
})

export const ACCESS_FLAGS = {
  'deny-new': texts(
    'exit with 1 when somebody newly gets a role that fits, or when that is not decided; * and ? as in a shell; may be repeated',
    'PATTERN',
  ),
  claims: texts('compare for this caller only: a JSON object or a JWT in a file; may be repeated', 'FILE'),
  release: {
    ...text(
      'the release of the operator whose gateways decide, such as 0.58; without it all of them',
      'RELEASE',
      '',
    ),
    read: readRelease,
  },
  output: choice('format of the output', ['human', 'markdown', 'json', 'sarif'], 'human'),
  ...READING_FLAGS,
  'api-group': JUDGING_FLAGS['api-group'],
  ...CLUSTER_FLAGS,
}

type Flags = Values<typeof ACCESS_FLAGS>
type Environment = Readonly<Record<string, string | undefined>>

/** Prints who gets which role differently; returns the exit code. Throws UsageError. */
export async function access(args: readonly string[], environment: Environment): Promise<number> {
  const { values: flags, positionals } = readFlags(ACCESS_FLAGS, args, environment)
  needCluster(flags.cluster, args, ['kubeconfig'])
  const states = flags.cluster
    ? await overCluster(positionals, flags, environment)
    : await twoStates(positionals, flags, environment)
  printUnread(states.unread)
  const pairs = pairsOf(states.old, states.new)
  const generations = generationsOf(flags.release)
  const code =
    flags.claims.length > 0
      ? await forCallers(states, pairs, generations, flags)
      : forAll(states, pairs, generations, flags, environment)
  return states.unread.length > 0 ? EXIT.unread : code
}

/** Both states, and what of them could not be read. */
interface States {
  readonly old: readonly Entry[]
  readonly new: readonly Entry[]
  readonly unread: readonly UnreadLine[]
  placeOf(entry: Entry): { readonly file: string | null; readonly line: number; readonly column: number }
}

function forAll(
  states: States,
  pairs: readonly Pair[],
  generations: readonly Generation[],
  flags: Flags,
  environment: Environment,
): number {
  const differences = pairs.map((pair) => differenceOf(pair, generations))
  const denied = deniedIn(differences, flags['deny-new'])
  const report: AccessReport = { compared: pairs.length, differences, denied, unread: states.unread }
  process.stdout.write(print(report, states, flags, environment))
  return denied.length > 0 ? EXIT.findings : EXIT.clean
}

function print(
  report: AccessReport,
  states: States,
  { output, 'api-group': group }: Flags,
  environment: Environment,
): string {
  switch (output) {
    case 'human':
      return accessPage(report)
    case 'markdown':
      return accessMarkdown(report)
    case 'json':
      return accessJson(report)
    case 'sarif':
      return printSarif(
        {
          files: [],
          judged: [],
          others: 0,
          notes: [],
          ignored: [],
          unread: [...report.unread],
          findings: accessFindings(report, (entry) => states.placeOf(entry)),
        },
        {
          scope: '',
          group,
          advice: true,
          quiet: false,
          showIgnored: false,
          plans: () => [],
          names: [],
          terminal: terminalOf(process.stdout, environment),
          source: () => undefined,
        },
      )
  }
}

async function forCallers(
  states: States,
  pairs: readonly Pair[],
  generations: readonly Generation[],
  { claims, output }: Flags,
): Promise<number> {
  if (output === 'markdown' || output === 'sarif') throw new UsageError('--claims prints human or json')
  try {
    const callers: { readonly file: string; readonly outcomes: ReturnType<typeof outcomesFor> }[] = []
    for (const file of claims) {
      const read = await loadClaims(file)
      callers.push({ file, outcomes: pairs.flatMap((pair) => outcomesFor(pair, read.claims, generations)) })
    }
    process.stdout.write(output === 'json' ? callersJson(callers, states.unread) : callersText(callers))
    return EXIT.clean
  } catch (error) {
    if (!(error instanceof Unread)) throw error
    printUnread([error.located])
    return EXIT.unread
  }
}

/** What `--deny-new` denies: an access that somebody newly gets, or of which that is not decided. */
function deniedIn(differences: readonly PartDifference[], patterns: readonly string[]): Denied[] {
  const denies = patterns.map(pattern)
  const isDenied = (name: string) => denies.some((each) => each.test(name))
  const denied = differences.flatMap((difference): Denied[] => {
    const entry = entryOf(difference)
    const gained = difference.changes.flatMap(({ new: { access: name } }) =>
      name === undefined ? [] : [name],
    )
    const open = difference.undecided.filter(({ question }) => question === 'gains')
    return [
      ...gained.filter(isDenied).map((name) => ({ entry, access: name, isProved: true })),
      ...open
        .filter(({ access: name }) => (name === '' ? denies.length > 0 : isDenied(name)))
        .map(({ access: name }) => ({ entry, access: name || 'another role', isProved: false })),
    ]
  })
  return [
    ...Map.groupBy(
      denied,
      ({ entry, access: name }) => `${JSON.stringify(entry.at)} ${entry.name} ${entry.namespace} ${name}`,
    ).values(),
  ].flatMap((same) => same.toSorted((a, b) => Number(b.isProved) - Number(a.isProved)).slice(0, 1))
}

const pattern = (written: string): RegExp =>
  new RegExp(
    `^${written
      .replaceAll(/[^*?]/g, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    'su',
  )

async function twoStates(names: readonly string[], flags: Flags, environment: Environment): Promise<States> {
  const [old, now] = names
  if (old === undefined || now === undefined || names.length > 2)
    throw new UsageError('name the old and the new state: files, folders, or revisions such as git:main')
  if (old === '-' && now === '-') throw new UsageError('only one of the two can be standard input')
  const reading = readingOf(flags, 'default')
  const before = await readState(old, now, flags, environment)
  const after = await readState(now, old, flags, environment)
  printLines([...before.patches, ...after.patches])
  const unread = [...before.unread, ...after.unread, ...printEmpty([before, after])]
  const [oldEntries, newEntries] = [entriesIn(before, reading), entriesIn(after, reading)]
  return { old: oldEntries, new: newEntries, unread, placeOf: placesIn(after, newEntries) }
}

/** A state that is named; a revision without a path is read where the other state lies. */
async function readState(
  name: string,
  other: string,
  flags: Flags,
  environment: Environment,
): Promise<Documents> {
  const options = readOptions(flags, environment)
  const revision = readRevision(name)
  if (revision === undefined) return readDocuments([name], options)
  const otherPath = readRevision(other)?.path ?? (existsSync(other) ? other : undefined)
  return readRevisionDocuments(revision, revision.path ?? otherPath ?? '.', options)
}

async function overCluster(
  names: readonly string[],
  flags: Flags,
  environment: Environment,
): Promise<States> {
  if (names.length === 0)
    throw new UsageError('name the files or folders of the new state: access --cluster FILE|DIRECTORY')
  const documents = await readDocuments(names, readOptions(flags, environment))
  printLines(documents.patches)
  const { readOverlay } = await import('../input/overlay.ts')
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
  return { old, new: now, unread, placeOf: placesIn(documents, now) }
}

const readingOf = ({ 'api-group': group, namespace }: Flags, fallback: string): Reading => ({
  group,
  namespace: namespace || fallback,
  strict: false,
})

const entriesIn = ({ documents }: Documents, reading: Reading): Entry[] =>
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
