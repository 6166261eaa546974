import { readdirSync, readFileSync } from 'node:fs'
import { getAsset, isSea } from 'node:sea'
import type { Release, ReleaseSchema } from '../release/index.ts'
import { shortQuote } from '../rule/index.ts'
import { UsageError } from './flags.ts'

/** The folder of known operator releases; located like other files of the program (`cli/program-files.ts`). */
const RELEASES = new URL(
  import.meta.url.endsWith('.ts') ? '../../releases/' : '../releases/',
  import.meta.url,
)

/** The word that users write instead of an operator release when the specification alone decides. */
export const NO_RELEASE = 'none'

/** An operator release as users write it: a minor version, with or without a patch version. */
const RELEASE = /^v?(\d+\.\d+)(?:\.\d+)?$/

/** The content of a file in `releases/`. */
interface KnownRelease {
  readonly version: string
  readonly schemas: Readonly<Record<string, ReleaseSchema>>
}

const fileNames = (): readonly string[] =>
  isSea() ? (JSON.parse(getAsset('releases', 'utf8')) as string[]) : readdirSync(RELEASES)

const textOf = (name: string): string =>
  isSea() ? getAsset(`releases/${name}`, 'utf8') : readFileSync(new URL(name, RELEASES), 'utf8')

/** The operator releases that users can name, the oldest first. */
export const knownReleases = (): readonly string[] =>
  fileNames()
    .map((name) => name.replace(/\.json$/, ''))
    .sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1]))

const minorOf = (written: string): string => RELEASE.exec(written)?.[1] ?? written

/** Reads an operator release that comes with this program; ignores the patch version. Throws UsageError. */
export function knownRelease(written: string): Release {
  const minor = minorOf(written)
  const known = knownReleases()
  if (!known.includes(minor)) throw new UsageError(notKnown(written, known))
  return { name: `operator release ${minor}`, version: minor, schemas: schemasOf(minor) }
}

const notKnown = (written: string, known: readonly string[]): string =>
  `'${written}' is not a release that is known: they are ${inRanges(known)}; for another one give its CRDs with --crds`

/** Why a configuration file cannot name this operator release; undefined when it can. */
export function problemWithRelease(written: string): string | undefined {
  if (written === NO_RELEASE) return undefined
  if (!RELEASE.test(written)) return `${shortQuote(written)} is not a release of the operator such as '0.63'`
  const known = knownReleases()
  return known.includes(minorOf(written)) ? undefined : notKnown(written, known)
}

export function schemasOf(minor: string): ReadonlyMap<string, ReleaseSchema> {
  const { schemas } = JSON.parse(textOf(`${minor}.json`)) as KnownRelease
  return new Map(Object.entries(schemas))
}

/** The operator release that a configuration file names; undefined when it names none. */
export const releaseOfFile = ({
  release = NO_RELEASE,
}: {
  readonly release?: string
}): Release | undefined => (release === NO_RELEASE ? undefined : knownRelease(release))

/** Minor versions, sorted, as a text of ranges with gaps between them: `0.26 to 0.48, 0.50, 0.55 to 0.63`. */
export function inRanges(versions: readonly string[]): string {
  const minor = (version: string | undefined) => Number(version?.split('.')[1])
  const starts = versions.filter((version, i) => minor(versions[i - 1]) !== minor(version) - 1)
  const ends = versions.filter((version, i) => minor(versions[i + 1]) !== minor(version) + 1)
  return starts.map((start, i) => (start === ends[i] ? start : `${start} to ${ends[i]}`)).join(', ')
}
