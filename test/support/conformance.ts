import { readFileSync } from 'node:fs'
import { stateOf } from '../../src/documents/given-objects.ts'
import { DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { refusals } from '../../src/release/refused.ts'
import type { Finding } from '../../src/rule/finding.ts'
import { pathText } from '../../src/rule/path.ts'
import { type World, worlds } from './conformance-worlds.ts'
import type { Release } from '../../src/release/release.ts'
import { type KnownRelease, knownReleases } from './releases.ts'
import { fileOf, judgeOf } from './review.ts'

/** The known releases in groups with equal CRDs, oldest first. */
const SAME_CRDS = [...Map.groupBy(knownReleases(), ({ schemas }) => JSON.stringify(schemas)).values()]

/**
 * The newest release of each group with equal CRDs, or only the given ones: a real API server takes ten seconds for
 * each.
 */
export const comparedReleases = (some?: readonly string[]): readonly KnownRelease[] =>
  SAME_CRDS.flatMap((same) => same.slice(-1)).filter(
    ({ version }) => some === undefined || some.includes(minorOf(version)),
  )

/** The range of releases with the same CRDs as the given one, as text: `0.34 to 0.36`. */
export function releasesLike(minor: string): string {
  const same = SAME_CRDS.map((each) => each.map(({ version }) => minorOf(version)))
  const [first = minor] = same.find((each) => each.at(-1) === minor) ?? []
  return first === minor ? minor : `${first} to ${minor}`
}

export const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.')

/**
 * The recorded verdicts, one line for each object: which releases' CRDs refuse it, and why the newest operator refuses
 * it.
 */
export const RECORDED = {
  crds: new URL('../golden/conformance/crds.jsonl', import.meta.url),
  operator: new URL('../golden/conformance/operator.jsonl', import.meta.url),
}

const recorded = <T extends { readonly id: string }>(file: URL): Map<string, T> =>
  new Map(
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as T)
      .map((row) => [row.id, row]),
  )

/** By id of an object: the releases whose CRDs refuse the object. */
export const recordedRefusals = (): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [...recorded<{ id: string; refusedBy: string[] }>(RECORDED.crds)].map(([id, { refusedBy }]) => [
      id,
      refusedBy,
    ]),
  )

/** The ids of the errors and warnings that the product reports for an object. */
interface Ours {
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
}

/** An object with all verdicts on it; the keys of `known` are releases. */
interface Judged extends World {
  readonly refusedBy: readonly string[]
  readonly known: ReadonlyMap<string, Ours>
  readonly unknown: Ours
  /** Why the operator refuses the object; undefined when the CRD already refuses it. */
  readonly operator: readonly string[] | undefined
}

/** The objects with recorded verdicts, each with the current verdicts of the product. */
function judgedWorlds(releases: readonly KnownRelease[]): readonly Judged[] {
  const crds = recordedRefusals()
  const operator = recorded<{ id: string; refusals: string[] }>(RECORDED.operator)
  return worlds().flatMap((world) => {
    const refusedBy = crds.get(world.id)
    const judge = judgeIn(world)
    return refusedBy === undefined
      ? []
      : [
          {
            ...world,
            refusedBy,
            known: new Map(releases.map((release) => [minorOf(release.version), judge(release)])),
            unknown: judge(undefined),
            operator: refusedBy.includes(NEWEST) ? undefined : operator.get(world.id)?.refusals,
          },
        ]
  })
}

export const NEWEST = minorOf(comparedReleases().at(-1)?.version ?? '')

const releases = new Map<string, Release>()

/** The release as `--release` would load it; one instance for all objects, because it is slow to make. */
function releaseOf({ version, schemas }: KnownRelease): Release {
  const made = releases.get(version) ?? {
    name: `operator release ${minorOf(version)}`,
    version: minorOf(version),
    schemas: new Map(Object.entries(schemas)),
  }
  releases.set(version, made)
  return made
}

/** Judges the object as `check` does. */
function judgeIn({ object, others }: World): (known: KnownRelease | undefined) => Ours {
  const state = stateOf([object, ...others], READING)
  const ids = (findings: readonly Finding[]) => [...new Set(findings.map(({ id }) => id))].toSorted()
  return (known) => {
    const release = known && releaseOf(known)
    const { errors, warnings } = judgeOf({ state, release }).file(fileOf(object))
    return { errors: ids(errors), warnings: ids(warnings) }
  }
}

const READING = { group: DEFAULT_API_GROUP, namespace: 'default', strict: true }

/** The differences between the product and the operator, by field or rule, with the number of objects. */
export interface Differences {
  readonly counts: readonly Counts[]
  /** Objects with an error of the product that the CRD and the operator of the newest release accept, by rule. */
  readonly denied: readonly Denied[]
  /** Objects that the newest CRD refuses without an error of the product while no release is known, by field. */
  readonly refused: readonly Group[]
  /** Objects that a CRD refuses without an error of the product although the release is known. */
  readonly missed: readonly string[]
  /** Objects that the operator refuses, by its message. */
  readonly operator: readonly Refusal[]
}

interface Counts {
  readonly release: string
  readonly worlds: number
  readonly taken: number
  readonly deniedKnown: number
  readonly deniedUnknown: number
  readonly silentKnown: number
  readonly silentUnknown: number
}

interface Group {
  readonly what: string
  readonly worlds: number
}

interface Denied extends Group {
  /** How many of these objects the product denies also when the release is known. */
  readonly known: number
}

interface Refusal extends Group {
  /** The ids of the product's findings for these objects. */
  readonly found: readonly string[]
  readonly silent: readonly string[]
}

/** Compares the product with these releases, which must include the newest one. */
export function differences(releases = comparedReleases()): Differences {
  const all = judgedWorlds(releases)
  const newest = all.filter(
    ({ refusedBy, operator }) => !refusedBy.includes(NEWEST) && operator !== undefined,
  )
  const taken = newest.filter(({ operator }) => operator?.length === 0)
  return {
    counts: releases.map(({ version }) => countsOf(minorOf(version), all)),
    denied: grouped(taken, ({ unknown }) => unknown.errors).map(([what, worlds]) => ({
      what,
      worlds: worlds.length,
      known: worlds.filter(({ known }) => known.get(NEWEST)?.errors.includes(what)).length,
    })),
    refused: refusedFields(all),
    missed: releases.flatMap(({ version }) =>
      all
        .filter(({ refusedBy }) => refusedBy.includes(minorOf(version)))
        .filter(({ known }) => known.get(minorOf(version))?.errors.length === 0)
        .map(({ title }) => `${version}: ${title}`),
    ),
    operator: grouped(newest, ({ operator = [] }) => operator.slice(0, 1).map(inShort)).map(
      ([what, worlds]) => ({
        what,
        worlds: worlds.length,
        found: [...new Set(worlds.flatMap(({ known }) => findingsOf(known.get(NEWEST))))].toSorted(),
        silent: worlds
          .filter(({ known }) => findingsOf(known.get(NEWEST)).length === 0)
          .map(({ title }) => title),
      }),
    ),
  }
}

const findingsOf = (ours: Ours | undefined): string[] => [...(ours?.errors ?? []), ...(ours?.warnings ?? [])]

function countsOf(release: string, all: readonly Judged[]): Counts {
  const taken = all.filter(({ refusedBy }) => !refusedBy.includes(release))
  const refused = all.filter(({ refusedBy }) => refusedBy.includes(release))
  const denied = (ours: Ours | undefined) => ours !== undefined && ours.errors.length > 0
  return {
    release,
    worlds: all.length,
    taken: taken.length,
    deniedKnown: taken.filter(({ known }) => denied(known.get(release))).length,
    deniedUnknown: taken.filter(({ unknown }) => denied(unknown)).length,
    silentKnown: refused.filter(({ known }) => !denied(known.get(release))).length,
    silentUnknown: refused.filter(({ unknown }) => !denied(unknown)).length,
  }
}

/** By field: the objects that the newest CRD refuses there first, and about which the product has no error. */
function refusedFields(all: readonly Judged[]): Group[] {
  const schemas = comparedReleases().at(-1)?.schemas ?? {}
  const silent = all.filter(
    ({ refusedBy, unknown }) => refusedBy.includes(NEWEST) && unknown.errors.length === 0,
  )
  return grouped(silent, ({ object }) => {
    const kind = object.kind as string
    const [first] = refusals(schemas[kind] ?? {}, object)
    return first === undefined
      ? ['nothing that we find in it']
      : first.keyword === 'unknown'
        ? ['a field that the CRD does not have']
        : [withoutIndices(kind, pathText(first.error.at))]
  }).map(([what, worlds]) => ({ what, worlds: worlds.length }))
}

/** The path without list indexes; both fields that hold an embedded authorization server count as one. */
const withoutIndices = (kind: string, path: string) =>
  `${kind} ${path}`
    .replace(/\[\d+\]/g, '[]')
    .replace(/^\w+ spec\.(authServerConfig|embeddedAuthServer)/, 'embedded server')

function grouped(all: readonly Judged[], keysOf: (world: Judged) => readonly string[]) {
  const groups = new Map<string, Judged[]>()
  for (const world of all)
    for (const key of keysOf(world)) groups.set(key, [...(groups.get(key) ?? []), world])
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** A refusal without names, numbers and the prefixes that say where the operator detected it. */
const inShort = (text: string): string => {
  const [line = ''] = text.split('\n')
  return line
    .replace(PREFIXES, '')
    .replace(/"(?:[^"\\]|\\.)*"/g, '"…"')
    .replace(/\d+/g, 'n')
    .slice(0, 110)
}

const PREFIXES =
  /^(?:[A-Z]\w+ (?:ValidationFailed|ConfigInvalid|AuthServerConfigInvalid|InvalidConfig): |reconcile(?: of a workload)?: |start: |failed to create vmcp Config from VirtualMCPServer: |failed to convert \w+( \w+)* config: |failed to convert \w+ auth: |failed to create auth server: |invalid config: |invalid run config: |invalid delegate clients in [\w.]+: |invalid auth server integration: |invalid embedded auth server delegate clients or trusted issuers: |failed to build storage config: |spec\.authServerConfig[.:] ?)+/
