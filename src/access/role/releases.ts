import { type Generation, GENERATIONS } from '../../kinds/mcp-external-auth-config/generations.ts'

const RELEASE = /^v?(\d+)\.(\d+)(?:\.\d+)?(?:[-+].*)?$/

/** Returns the text if it is empty or a release such as `0.48`; otherwise throws an Error that says what to write. */
export function readRelease(text: string): string {
  if (text === '' || RELEASE.test(text)) return text
  throw new Error(`'${text}' is not a release of the operator such as 0.58 or v0.58.0`)
}

/**
 * The generation (operator releases that choose a role in the same way) that contains this release. For a release
 * between two generations these two are returned, and for an empty text all.
 */
export function generationsOf(release: string): readonly Generation[] {
  const [, major, minor] = RELEASE.exec(release) ?? []
  if (major === undefined) return GENERATIONS
  const place = Number(major) > 0 ? Infinity : Number(minor)
  const around = (distance: number) =>
    GENERATIONS.filter(({ first, last }) => first <= place + distance && place - distance <= last)
  const exact = around(0)
  return exact.length > 0 ? exact : around(1)
}

/** Describes the releases of generations: `0.48 and older`, `0.50 to 0.58`, or several such ranges. */
export function releasesOf(generations: readonly Generation[]): string {
  const runs: { first: number; last: number }[] = []
  for (const { first, last } of generations) {
    const before = runs.at(-1)
    const isNext = GENERATIONS.findIndex((each) => each.last === before?.last) + 1
    if (before !== undefined && GENERATIONS[isNext]?.first === first) before.last = last
    else runs.push({ first, last })
  }
  return runs.map(releasesOfRun).join(', ')
}

function releasesOfRun({ first, last }: { readonly first: number; readonly last: number }): string {
  if (first === 0) return last === Infinity ? 'all' : `0.${last} and older`
  return last === Infinity ? `0.${first} and newer` : `0.${first} to 0.${last}`
}
