import { API_VERSION } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { type Demanded, demandedFields, NEWEST_RELEASE } from '../release/index.ts'
import { andMore, type Finding, isObject, MOST_FINDINGS, pathText, type Segment } from '../rule/index.ts'
import { fieldOf, type SchemaNode } from '../shape/index.ts'

/**
 * The missing fields that every known release requires, when the user names no release and none is installed. A
 * missing field is an error when the specification does not describe the object that lacks it; otherwise a warning,
 * because the specification accepts the object. Only v1beta1 is judged: v1alpha1 objects may be for older releases
 * with other fields.
 */
export function missingFields(
  kind: Kind,
  object: unknown,
  isTemplate?: (name: string) => boolean,
): readonly Finding[] {
  const demanded = demandedFields(kind.kind)
  if (demanded === undefined || !isObject(object) || !String(object.apiVersion).endsWith(`/${API_VERSION}`))
    return []
  const searched: Search = { isTemplate, at: [], findings: [] }
  search(demanded, kind.schema, object, searched)
  const { findings } = searched
  return findings.length === 0 || !isGiven(object, SPECIFIED.by)
    ? findings
    : findings.filter(({ error }) => pathText(error.at) !== SPECIFIED.field)
}

/** A field that the specification has at the path `by`, and all releases at the path `field` (decision 4). */
const SPECIFIED = {
  field: 'spec.incomingAuth.oidcConfigRef.audience',
  by: ['spec', 'incomingAuth', 'audience'],
}

const isGiven = (value: unknown, [name, ...below]: readonly string[]): boolean =>
  name === undefined ? value !== undefined && value !== null : isObject(value) && isGiven(value[name], below)

interface Search {
  /** Returns whether a field name is a template that a deployment tool will replace, possibly by several fields. */
  readonly isTemplate: ((name: string) => boolean) | undefined
  /** The path that the search has reached. */
  readonly at: Segment[]
  readonly findings: Finding[]
}

function search(demanded: Demanded, ours: SchemaNode | undefined, value: unknown, searched: Search): void {
  const { required = [], properties, items, additionalProperties } = demanded
  if (searched.findings.at(-1)?.more === true) return
  if (Array.isArray(value)) {
    if (items === undefined) return
    for (let i = 0; i < value.length; i++) step(i, items, ours?.items, value[i], searched)
  } else if (isObject(value)) {
    const missing = required.filter((name) => value[name] === undefined || value[name] === null)
    const { isTemplate } = searched
    if (missing.length > 0 && (isTemplate === undefined || !Object.keys(value).some(isTemplate)))
      for (const name of missing) tell(name, ours, searched)
    for (const name in properties) {
      const below = properties[name]
      if (below !== undefined) step(name, below, ours && fieldOf(ours, name), value[name], searched)
    }
    if (additionalProperties === undefined) return
    for (const name of Object.keys(value)) {
      if (properties !== undefined && Object.hasOwn(properties, name)) continue
      step({ key: name }, additionalProperties, ours && fieldOf(ours, name), value[name], searched)
    }
  }
}

function step(
  segment: Segment,
  demanded: Demanded,
  ours: SchemaNode | undefined,
  value: unknown,
  searched: Search,
): void {
  if (typeof value !== 'object' || value === null) return
  searched.at.push(segment)
  search(demanded, ours?.newer === true ? undefined : ours, value, searched)
  searched.at.pop()
}

function tell(name: string, ours: SchemaNode | undefined, { at, findings }: Search): void {
  if (findings.at(-1)?.more === true) return
  const isSpecified = ours?.properties !== undefined
  const finding: Finding = {
    id: 'schema-required',
    severity: isSpecified ? 'warning' : 'error',
    error: { type: 'required', at: [...at, name], detail: DEMANDED },
  }
  findings.push(findings.length < MOST_FINDINGS ? finding : andMore(finding))
}

const DEMANDED = `no operator release up to ${NEWEST_RELEASE} takes the object without it`
