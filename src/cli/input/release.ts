import { isDeepStrictEqual } from 'node:util'
import { text, UsageError, type Values } from '../../configuration/flags.ts'
import { type Configuration, NO_CONFIGURATION } from '../../configuration/file.ts'
import {
  inRanges,
  knownRelease,
  knownReleases,
  NO_RELEASE,
  releaseOfFile,
  schemasOf,
} from '../../configuration/known-releases.ts'
import { type Release, releaseOf } from '../../release/index.ts'
import { readDocuments } from './documents.ts'

export const RELEASE_FLAGS = {
  release: text(
    `release of the operator that the resources are for, such as 0.63: what its API server takes is not an error; '${NO_RELEASE}': judge by the specification alone, beside a cluster too; without it that of the cluster, or else of the configuration file`,
    'VERSION',
    '',
  ),
  crds: text(
    'CustomResourceDefinitions of the operator, in the place of a release that is known',
    'FILE|DIR',
    '',
  ),
}

/**
 * The operator release that the flags name, or else the configuration file: a release that comes with this program, or
 * CRDs in files. Undefined when neither names a release. Throws UsageError for an unknown release, and for files
 * without a CRD of the API group.
 */
export async function readRelease(
  { release, crds }: Values<typeof RELEASE_FLAGS>,
  group: string,
  configuration: Configuration = NO_CONFIGURATION,
): Promise<Release | undefined> {
  if (crds !== '' && release !== '') throw new UsageError('give either --release or --crds')
  if (crds !== '') return releaseInFiles(crds, group)
  if (release === '') return releaseOfFile(configuration)
  return release === NO_RELEASE ? undefined : knownRelease(release)
}

/** The release by which resources are judged, or the specification, for the last line of a report. */
export const judgedBy = (release: Release | undefined): string =>
  release?.name ?? 'the specification (no --release)'

/** The newest release that comes with this program. */
export const newestRelease = (): Release => knownRelease(knownReleases().at(-1) ?? '')

/** A kind whose schema differs from its schema in the nearest known releases. */
interface Other {
  readonly kind: string
  /** The known releases that have this schema, as text; empty when there are none. */
  readonly versions: string
}

/**
 * The known releases that share the schemas of the most kinds with the given release (if several sets of releases
 * share equally many, the newest set), and the kinds whose schema differs.
 */
export function nearestReleases({ schemas }: Release): {
  readonly versions: string
  readonly others: readonly Other[]
} {
  const known = knownReleases().map((version) => {
    const theirs = schemasOf(version)
    const same = [...schemas].filter(([kind, schema]) => isDeepStrictEqual(theirs.get(kind), schema))
    return { version, kinds: new Set(same.map(([kind]) => kind)) }
  })
  const most = Math.max(...known.map(({ kinds }) => kinds.size))
  const best = known.findLast(({ kinds }) => kinds.size === most)?.kinds ?? new Set()
  const versionsWith = (isSo: (kinds: ReadonlySet<string>) => boolean) =>
    inRanges(known.filter(({ kinds }) => isSo(kinds)).map(({ version }) => version))
  const others = [...schemas.keys()].filter((kind) => !best.has(kind))
  return {
    versions:
      most === 0
        ? ''
        : versionsWith((kinds) => kinds.size === most && [...kinds].every((kind) => best.has(kind))),
    others: others.map((kind) => ({ kind, versions: versionsWith((kinds) => kinds.has(kind)) })),
  }
}

/**
 * Whether to read the operator release from the cluster: when no flag names a release, even if the configuration file
 * does.
 */
export const asksCluster = ({ release, crds }: Values<typeof RELEASE_FLAGS>): boolean =>
  release === '' && crds === ''

/** Reads the release from the CustomResourceDefinitions of a cluster; undefined when none belongs to the operator. */
export const installedRelease = (definitions: readonly unknown[], group: string): Release | undefined =>
  releaseOf(definitions, group, 'the installed operator')

async function releaseInFiles(path: string, group: string): Promise<Release> {
  const { documents, unread } = await readDocuments([path], { filled: new Map(), excluded: () => false })
  const [problem] = unread
  if (problem !== undefined)
    throw new UsageError(`--crds ${path}: cannot read ${problem.file ?? path}: ${problem.message}`)
  const release = releaseOf(
    documents.map(({ document }) => document.value),
    group,
    'the release of --crds',
  )
  if (release === undefined)
    throw new UsageError(
      `--crds ${path}: there is no CustomResourceDefinition of an operator for the group ${group} in it`,
    )
  return release
}
