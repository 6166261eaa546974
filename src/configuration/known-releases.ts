import { readdirSync, readFileSync } from 'node:fs'
import { getAsset, isSea } from 'node:sea'
import type { Release, ReleaseSchema } from '../release/index.ts'
import { UsageError } from './flags.ts'

/** As `cli/program-files.ts` finds the files that come with the program. */
const RELEASES = new URL(
  import.meta.url.endsWith('.ts') ? '../../releases/' : '../releases/',
  import.meta.url,
)

/** In the place of a release: the specification alone counts. */
export const NO_RELEASE = 'none'

/** How a release is written: as a minor version, with or without its patch. */
export const RELEASE = /^v?(\d+\.\d+)(?:\.\d+)?$/

/** A file of `releases/`. */
interface KnownRelease {
  readonly version: string
  readonly schemas: Readonly<Record<string, ReleaseSchema>>
}

const fileNames = (): readonly string[] =>
  isSea() ? (JSON.parse(getAsset('releases', 'utf8')) as string[]) : readdirSync(RELEASES)

const textOf = (name: string): string =>
  isSea() ? getAsset(`releases/${name}`, 'utf8') : readFileSync(new URL(name, RELEASES), 'utf8')

/** The releases that can be named, the oldest first. */
export const knownReleases = (): readonly string[] =>
  fileNames()
    .map((name) => name.replace(/\.json$/, ''))
    .sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1]))

/** A release that comes with this program, by its minor version; a patch version is as its minor. Throws UsageError. */
export function knownRelease(written: string): Release {
  const minor = RELEASE.exec(written)?.[1] ?? written
  const known = knownReleases()
  if (!known.includes(minor)) {
    throw new UsageError(
      `'${written}' is not a release that is known: they are ${inRanges(known)}; for another one give its CRDs with --crds`,
    )
  }
  return { name: `operator release ${minor}`, version: minor, schemas: schemasOf(minor) }
}

export function schemasOf(minor: string): ReadonlyMap<string, ReleaseSchema> {
  const { schemas } = JSON.parse(textOf(`${minor}.json`)) as KnownRelease
  return new Map(Object.entries(schemas))
}

/** The release that a configuration file names; undefined where it names none. Throws UsageError. */
export function releaseOfFile({
  file = '',
  release = NO_RELEASE,
}: {
  readonly file?: string
  readonly release?: string
}): Release | undefined {
  if (release === NO_RELEASE) return undefined
  try {
    return knownRelease(release)
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${file}: release: ${error.message}`)
    throw error
  }
}

/** Versions in order, with the gaps between them: `0.26 to 0.48, 0.50, 0.55 to 0.63`. */
export function inRanges(versions: readonly string[]): string {
  const minor = (version: string | undefined) => Number(version?.split('.')[1])
  const starts = versions.filter((version, i) => minor(versions[i - 1]) !== minor(version) - 1)
  const ends = versions.filter((version, i) => minor(versions[i + 1]) !== minor(version) + 1)
  return starts.map((start, i) => (start === ends[i] ? start : `${start} to ${ends[i]}`)).join(', ')
}
