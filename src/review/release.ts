import { allows } from '../release/allows.ts'
import type { Release } from '../release/release.ts'
import { refusals } from '../release/refused.ts'
import { pathText, type Segment, valueAt } from '../rule/path.ts'
import type { Finding } from './finding.ts'
import type { Placeholder } from './placeholder.ts'
import { outside } from './shape.ts'

interface Situated {
  readonly kind: string
  readonly value: unknown
  readonly release: Release | undefined
}

/**
 * The findings in an object of the kind, where the installed release goes first (decision 3): an error of a constraint
 * that it does not share is a warning that says so.
 */
export function yielding(
  findings: readonly Finding[],
  { kind, value, release }: Situated,
): readonly Finding[] {
  const schema = release?.schemas.get(kind)
  if (schema === undefined || release === undefined) return findings
  return findings.filter(isOfSpecification).map((finding) => {
    const { constraint: keyword, severity, error } = finding
    if (keyword === undefined || severity !== 'error') return finding
    const { at } = error
    const broken = { keyword, at, value: valueAt(value, at), holder: valueAt(value, at.slice(0, -1)) }
    if (!allows(schema, broken)) return finding
    const note = `${release.name} allows this; the specification does not`
    const detail = error.detail === '' ? note : `${error.detail}; ${note}`
    return { ...finding, severity: 'warning', error: { ...error, detail } }
  })
}

/** Bounds of fields of newer releases are warnings (decision 3): the schema of the installed release says more. */
const isOfSpecification = ({ id, severity }: Finding): boolean =>
  severity !== 'warning' || !id.startsWith('schema-')

/** What the API server will refuse beyond the specification, by the CRD of the release; nothing that is found anyway. */
export function refusedBy(
  object: unknown,
  {
    kind,
    release,
    placeholders,
    known,
  }: {
    readonly kind: string
    readonly release: Release | undefined
    readonly placeholders: readonly Placeholder[]
    readonly known: readonly Finding[]
  },
): readonly Finding[] {
  const schema = release?.schemas.get(kind)
  if (release === undefined || schema === undefined) return []
  const told = new Set(
    known.filter(({ severity }) => severity === 'error').flatMap(({ error: { at } }) => placesAround(at)),
  )
  const found = [...refusals(schema, object)].flatMap(({ keyword, error }): Finding[] => {
    if (keyword === 'unknown' || told.has(pathText(error.at))) return []
    const detail = `${error.detail === '' ? '' : `${error.detail}; `}${release.name} refuses it`
    return [{ id: RELEASE_ACCEPTS, severity: 'error', error: { ...error, detail } }]
  })
  return outside(
    placeholders.map(({ at }) => at),
    found,
  )
}

/** A place and those around it: a rule of the CRD is told at the object that holds the mistake. */
const placesAround = (at: readonly Segment[]): string[] =>
  Array.from({ length: at.length }, (_, i) => pathText(at.slice(0, i + 1)))

/** The id of what the CRD of the release refuses, and the specification does not. */
const RELEASE_ACCEPTS = 'release-accepts'
