/** Reads what a command needs for judging, by its flags and the configuration file: settings, release and objects. */
import { type Configuration, NO_CONFIGURATION } from '../../configuration/file.ts'
import { type Environment, UsageError, type Values } from '../../configuration/flags.ts'
import {
  chosenProfile,
  chosenSettings,
  type CONFIGURATION_FLAG,
  type JUDGING_FLAGS,
} from '../../configuration/judging.ts'
import { placeholderFinder, type DocumentReading } from '../../documents/index.ts'
import type { Profile, Settings } from '../../engine/index.ts'
import type { Release } from '../../release/index.ts'
import type { Unread } from '../output/report.ts'
import type { LIVE_FLAGS } from './cluster-flags.ts'
import { openConfiguration } from './configuration.ts'
import { readDocuments, type ReadOptions } from './documents.ts'
import { readRevision } from './git.ts'
import { type ClusterFlags, type Overlay, readOverlay } from './overlay.ts'
import type { LiveCluster, Wanted } from './live/index.ts'
import { unreadDefinitionNotes } from '../output/missing-crds.ts'
import { printEmpty, printLines, printNotes } from './reading.ts'
import { readRelease, type RELEASE_FLAGS } from './release.ts'
import type { Documents } from './texts.ts'
import { yamlValue } from './yaml-nodes.ts'
import { readState, readTwoStates } from './two-states.ts'

type ReadingFlags = Pick<Values<typeof JUDGING_FLAGS>, 'api-group'> & {
  readonly namespace?: string
  readonly cluster?: boolean
}

/** Settings for reading documents; with `--cluster` the default namespace is the namespace of the kubeconfig. */
export function openReading(
  { namespace = '', cluster = false, 'api-group': group }: ReadingFlags,
  configuration: Configuration = NO_CONFIGURATION,
): DocumentReading {
  return {
    group,
    namespace: namespace || configuration.defaultNamespace || (cluster ? '' : 'default'),
    strict: false,
    placeholders: placeholderFinder(configuration.placeholders),
    readYaml: yamlValue,
  }
}

/** Everything on which the judgement of an object depends, except the other objects in the files and the cluster. */
export interface OpenWorld extends DocumentReading {
  readonly settings: Settings
  readonly profile: Profile
  /**
   * The operator release that the flags or the configuration file name. The release that is installed in the cluster
   * takes precedence over the release in the configuration file.
   */
  readonly release: Release | undefined
  readonly configuration: Configuration
  /** The time when the command began: exemptions that ended before it have expired. */
  readonly now: number
}

type WorldFlags = ReadingFlags &
  Values<typeof JUDGING_FLAGS> &
  Values<typeof RELEASE_FLAGS> & {
    readonly 'no-ignores'?: boolean
    /** The flag `--strict`; undefined for commands without this flag, which are never strict. */
    readonly strict?: boolean
  }

/**
 * Reads the configuration file that applies to the named manifests, and takes the settings for judging and the
 * operator release from the flags or from this file. Throws UsageError.
 */
export async function openWorld(
  flags: WorldFlags & Values<typeof CONFIGURATION_FLAG>,
  names: readonly string[],
): Promise<OpenWorld> {
  const configuration = await openConfiguration(flags['config-file'], names)
  return worldWith(configuration, flags, await readRelease(flags, flags['api-group'], configuration))
}

export function worldWith(
  configuration: Configuration,
  flags: WorldFlags,
  release: Release | undefined,
): OpenWorld {
  const now = Date.now()
  const profile = chosenProfile(flags, configuration)
  return {
    ...openReading(flags, configuration),
    strict: flags.strict === true || (flags.strict === false && profile === 'strict'),
    settings: chosenSettings(flags, configuration, now),
    profile,
    release,
    configuration,
    now,
  }
}

/** Documents, and files that could not be read; if no argument has a document, all arguments count as unread too. */
export interface OpenFiles {
  readonly documents: Documents
  readonly unread: readonly Unread[]
}

/** Reads the manifests of one state: files and folders, or a revision such as `git:main`. Throws UsageError. */
export async function openFiles(names: readonly string[], options: ReadOptions): Promise<OpenFiles> {
  const revision = names.find((name) => readRevision(name) !== undefined)
  if (revision !== undefined && names.length > 1)
    throw new UsageError('name one revision, or files and folders')
  const documents = await (revision === undefined
    ? readDocuments(names, options)
    : readState(revision, ['.'], options))
  return { documents, unread: unreadIn([documents]) }
}

/** Reads the old and the new state of the manifests, which the arguments name. Throws UsageError. */
export async function openTwoStates(
  names: readonly string[],
  options: ReadOptions,
): Promise<{ readonly before: Documents; readonly after: Documents; readonly unread: readonly Unread[] }> {
  const [old, now] = names
  if (old === undefined || now === undefined || names.length > 2)
    throw new UsageError('name the old and the new state: files, folders, or revisions such as git:main')
  const [before, after] = await readTwoStates(old, now, options)
  return { before, after, unread: unreadIn([before, after]) }
}

/**
 * Reads the files, and the cluster to which they would be applied, also the namespaces of the documents `previous`.
 * Prints a note if the release is not known, because the user may not read the CRDs. Throws UsageError.
 */
export async function openOverlay(
  names: readonly string[],
  options: ReadOptions,
  flags: ClusterFlags,
  reading: DocumentReading & { readonly release?: Release | undefined },
  environment: Environment,
  previous: readonly unknown[] = [],
): Promise<OpenFiles & Overlay> {
  const { documents, unread } = await openFiles(names, options)
  const overlay = await readOverlay(documents, reading, flags, environment, previous)
  printNotes(unreadDefinitionNotes(overlay.live, overlay.installed ?? reading.release))
  return { ...overlay, documents, unread: [...overlay.unread, ...unread] }
}

/** The files of these states that could not be read; prints a line for each document that is not judged. */
function unreadIn(states: readonly Documents[]): readonly Unread[] {
  printLines(states.flatMap(({ notJudged }) => notJudged))
  return [...states.flatMap(({ unread }) => unread), ...printEmpty(states)]
}

/** Reads a cluster, or only the namespaces that the flags name. */
export async function openCluster(
  { kubeconfig, namespaces }: Pick<Values<typeof LIVE_FLAGS>, 'kubeconfig' | 'namespaces'>,
  more: Pick<Wanted, 'group'> & Partial<Wanted>,
  environment: Environment,
): Promise<LiveCluster> {
  const { readCluster } = await import('./live/index.ts')
  return readCluster(
    {
      kubeconfig,
      namespaces: () => (namespaces.length === 0 ? undefined : namespaces),
      mustExist: true,
      ...more,
    },
    environment,
  )
}
