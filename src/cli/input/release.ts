import { isDeepStrictEqual } from 'node:util'
import { text, UsageError, type Values } from '../../configuration/flags.ts'
import { type Release, releaseOf, type ReleaseSchema } from '../../release/index.ts'
import { readReleaseFile, releaseFiles } from '../program-files.ts'
import { readDocuments } from './documents.ts'

const NO_RELEASE = 'none'

export const RELEASE_FLAGS = {
  release: text(
    `release of the operator that the resources are for, such as 0.63: what its API server takes is not an error; '${NO_RELEASE}': judge by the specification alone, beside a cluster too`,
    'VERSION',
    '',
  ),
  crds: text(
    'CustomResourceDefinitions of the operator, in the place of a release that is known',
    'FILE|DIR',
    '',
  ),
}

/** A file of `releases/`. */
interface KnownRelease {
  readonly version: string
  readonly schemas: Readonly<Record<string, ReleaseSchema>>
}

/** The releases that can be named, the oldest first. */
const knownReleases = (): readonly string[] =>
  releaseFiles()
    .map((name) => name.replace(/\.json$/, ''))
    .sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1]))

/**
 * The release that the flags name: one of those that come with this program, or CRDs in files; undefined where they name
 * none. Throws UsageError for a release that is not known, and for files without a CRD of the group.
 */
export async function readRelease(
  { release, crds }: Values<typeof RELEASE_FLAGS>,
  group: string,
): Promise<Release | undefined> {
  if (crds !== '' && release !== '') throw new UsageError('give either --release or --crds')
  if (crds !== '') return releaseInFiles(crds, group)
  return release === '' || release === NO_RELEASE ? undefined : knownRelease(release)
}

/** The newest release that comes with this program. */
export const newestRelease = (): Release => knownRelease(knownReleases().at(-1) ?? '')

/** A release that comes with this program, by its minor version; a patch version is as its minor. */
function knownRelease(written: string): Release {
  const minor = /^v?(\d+\.\d+)(?:\.\d+)?$/.exec(written)?.[1] ?? written
  const known = knownReleases()
  if (!known.includes(minor)) {
    throw new UsageError(
      `'${written}' is not a release that is known: they are ${inRanges(known)}; for another one give its CRDs with --crds`,
    )
  }
  return { name: `operator release ${minor}`, schemas: schemasOf(minor) }
}

function schemasOf(minor: string): ReadonlyMap<string, ReleaseSchema> {
  const { schemas } = JSON.parse(readReleaseFile(`${minor}.json`)) as KnownRelease
  return new Map(Object.entries(schemas))
}

/** A kind whose CRD is that of other releases. */
interface Other {
  readonly kind: string
  /** Those releases; empty where the CRD is of no known one. */
  readonly versions: string
}

/**
 * The known releases in which the most kinds have the schema of this one, the newest ones of these, and the kinds that
 * have another schema there.
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

/** Versions in order, with the gaps between them: `0.26 to 0.48, 0.50, 0.55 to 0.63`. */
function inRanges(versions: readonly string[]): string {
  const minor = (version: string | undefined) => Number(version?.split('.')[1])
  const starts = versions.filter((version, i) => minor(versions[i - 1]) !== minor(version) - 1)
  const ends = versions.filter((version, i) => minor(versions[i + 1]) !== minor(version) + 1)
  return starts.map((start, i) => (start === ends[i] ? start : `${start} to ${ends[i]}`)).join(', ')
}

/** Whether the release is that of the cluster: no other one is given, and it is not turned off. */
export const asksCluster = ({ release, crds }: Values<typeof RELEASE_FLAGS>): boolean =>
  release === '' && crds === ''

/** The release of the CustomResourceDefinitions of a cluster; undefined where they are not those of an operator. */
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
