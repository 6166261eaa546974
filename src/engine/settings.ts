import {
  type Finding,
  NOT_JUDGED,
  pathText,
  pathTextWithoutIndexes,
  type Segment,
  type Severity,
  stepsIn,
} from '../rule/index.ts'
import { EmbeddedAuthServer } from '../kinds/schemas.ts'
import { KINDS } from '../kinds/index.ts'
import { presentId } from './engine-ids.ts'
import { fieldOf, isKeyOfMap, type SchemaNode } from '../shape/index.ts'

/** All settings that users of this product can make about rules (decision 7). */
export interface Settings {
  readonly mode: 'enforce' | 'warn'
  /** When several of these settings apply to a finding, the last one has effect. */
  readonly severities: readonly SeveritySetting[]
  readonly exemptions: readonly Exemption[]
  /** Which findings manifests may ignore; by default all in files, and only warnings in a cluster. */
  readonly allowIgnores: AllowedIgnores | 'by default'
  /** Namespaces whose objects are not judged, with `*` for any characters. */
  readonly leftOut: readonly string[]
}

export interface SeveritySetting {
  readonly id: string
  /** The path, without list indexes, of the field to which the setting applies; every field when absent. */
  readonly path?: string
  /** The namespaces in which the setting applies; every namespace when absent. */
  readonly namespaces?: readonly string[]
  readonly severity: Severity
}

/** An exemption in the configuration file: findings that are not reported, and the reason. */
export interface Exemption {
  readonly id: string
  /** The objects that the exemption is for, with `*` for any characters; every object when absent. */
  readonly object?: ObjectPattern
  /** The path, without list indexes, of the field to which the exemption applies; every field when absent. */
  readonly path?: string
  readonly reason: string
}

export interface ObjectPattern {
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
}

/** An ignore in the manifest: a comment, or a line of the annotation `vmcp-admission-ignore`. */
export interface Ignore {
  readonly id: string
  readonly reason: string
  readonly written: 'comment' | 'annotation'
  /** Whether the ignore applies to the field at this path; absent when it applies to the whole object. */
  readonly covers?: (at: readonly Segment[]) => boolean
}

/** A finding that is not reported, and why. */
export interface Ignored {
  readonly finding: Finding
  readonly by: Exemption | Ignore
}

/** Where an exemption or an ignore is written, for messages. */
export const writtenIn = (by: Exemption | Ignore): Ignore['written'] | 'configuration' =>
  'written' in by ? by.written : 'configuration'

export type AllowedIgnores = 'none' | 'warnings' | 'all'

export const DEFAULT_SETTINGS: Settings = {
  mode: 'enforce',
  severities: [],
  exemptions: [],
  allowIgnores: 'by default',
  leftOut: [],
}

/** Ids whose severity no setting can change: such an error says that part of the object was not judged at all. */
export const FIXED: ReadonlySet<string> = new Set(['schema-type', 'request-kind-agrees', NOT_JUDGED])

/** The severity that the settings give to a finding at a path in a namespace; by default `severity`, of its rule. */
export function severityAt(
  settings: Settings,
  finding: Pick<Finding, 'id' | 'constraint'> & {
    readonly at: readonly Segment[]
    readonly namespace: string
  },
  severity: Severity,
): Severity {
  if (settings.severities.length === 0 || FIXED.has(finding.id)) return severity
  const set = settings.severities.findLast(
    ({ id, path, namespaces }) =>
      (id === finding.id || (path !== undefined && id === `schema-${finding.constraint}`)) &&
      (path === undefined || isPlace(path, finding.at)) &&
      (namespaces?.includes(finding.namespace) ?? true),
  )
  return set?.severity ?? severity
}

/**
 * Returns the severity of each finding in a namespace. Undefined when no setting names a path, so that all findings of
 * a rule have the same severity.
 */
export function severityByPlace(
  settings: Settings,
  namespace: string,
): ((finding: Finding) => Severity) | undefined {
  if (settings.severities.every(({ path }) => path === undefined)) return undefined
  return ({ id, constraint, error, severity }) =>
    severityAt(settings, { id, ...(constraint && { constraint }), at: error.at, namespace }, severity)
}

/**
 * Whether a path in a setting names this field. The path begins at the top of the object, or at a part of it that
 * several kinds have, such as an embedded authorization server.
 */
export const isPlace = (path: string, at: readonly Segment[]): boolean => {
  const places = [pathTextWithoutIndexes(at), pathOfField(at)]
  return places.includes(path) || PARTS.some((part) => places.includes(`${part}.${path}`))
}

/**
 * The paths of embedded authorization servers. docs/fields.md lists their fields once, so a path in a setting may be
 * relative to them.
 */
const PARTS: readonly string[] = KINDS.flatMap(({ parts }) =>
  parts.filter(({ schema }) => schema === EmbeddedAuthServer).map(({ at }) => pathText(at)),
)

/**
 * The path of a field as in docs/fields.md, with the literal text `<name>` for each map key:
 * `spec.outgoingAuth.backends.<name>.type`.
 */
const pathOfField = (at: readonly Segment[]): string =>
  pathTextWithoutIndexes(at.map((segment) => (typeof segment === 'object' ? '<name>' : segment)))

const SETTING =
  /^([A-Za-z][A-Za-z0-9-]*)(?::([^=@]+))?=(error|warning|advice|off)(?:@([a-z0-9-]+(?:,[a-z0-9-]+)*))?$/

/** Parses `ID[:PATH]=error|warning|advice|off[@NAMESPACE,…]`; on a syntax error, returns what to write instead. */
export function parseSeveritySetting(text: string, knownIds: ReadonlySet<string>): SeveritySetting | string {
  const match = SETTING.exec(text)
  if (match === null) return `'${text}' is not ID[:PATH]=error|warning|advice|off[@NAMESPACE,...]`
  const [, given = '', path, severity, namespaces] = match
  const id = presentId(given)
  if (!knownIds.has(id)) return `'${id}' is not the id of a rule; docs/rules.md lists them`
  if (FIXED.has(id)) return `'${id}' is always an error`
  const place = path?.replaceAll('[]', '')
  const problem = path === undefined ? undefined : problemWithPath(path)
  if (problem !== undefined) return problem
  return {
    id,
    ...(place === undefined ? {} : { path: place }),
    ...(namespaces === undefined ? {} : { namespaces: namespaces.split(',') }),
    severity: severity as Severity,
  }
}

/** Why a setting cannot have this path; undefined when it can. */
export function problemWithPath(path: string): string | undefined {
  if (/\[\d+\]/.test(path)) return `'${path}': leave list indexes out, as in spec.list.field`
  const place = path.replaceAll('[]', '')
  return isPathOfAKind(place) || PARTS.some((part) => isPathOfAKind(`${part}.${place}`))
    ? undefined
    : `'${path}' is not a field of any kind; docs/fields.md lists them, with <name> for any key of a map`
}

/**
 * Whether some kind has the field. Another path is accepted too, if its longest prefix that is a field of some kind
 * allows any fields below it.
 */
function isPathOfAKind(path: string): boolean {
  const steps = stepsIn(path)
  const reached = KINDS.map(({ schema }) => follow(schema as SchemaNode, steps))
  const furthest = Math.max(...reached.map(({ depth }) => depth))
  return furthest === steps.length || reached.some(({ depth, isOpen }) => depth === furthest && isOpen)
}

function follow(schema: SchemaNode, steps: readonly string[]): { depth: number; isOpen: boolean } {
  let node = schema
  for (const [depth, step] of steps.entries()) {
    while (node.items !== undefined) node = node.items
    const next = fieldOf(node, step)
    if (next === undefined) return { depth, isOpen: node.open === true || node.properties === undefined }
    if (isKeyOfMap(node, step) && !/^(?:\[.*\]|<name>)$/.test(step)) return { depth, isOpen: false }
    node = next
  }
  return { depth: steps.length, isOpen: false }
}
