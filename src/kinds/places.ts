import * as rules from './rules.ts'
import { API_VERSION, DEFAULT_API_GROUP, KINDS } from './index.ts'
import type { Kind } from './kind.ts'
import {
  compareText,
  isObject,
  type Example,
  type Other,
  pathText,
  type Rule,
  type Segment,
} from '../rule/index.ts'

/** A rule, with a kind and the path in that kind at which the rule applies. */
export interface RulePlace {
  readonly rule: Rule
  readonly kind: Kind
  /** The path from a resource of the kind to the value that the rule checks. */
  readonly at: readonly Segment[]
}

const ORDER: readonly Rule['severity'][] = ['error', 'warning', 'advice']

/** All rules: errors before warnings before advice, then by id. Does not affect the order of findings. */
const RULES: readonly Rule[] = Object.values(rules).toSorted(
  (a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity) || compareText(a.id, b.id),
)

/** The rules for resources of a kind, then for parts of its schema, such as an embedded authorization server. */
export function rulePlacesOf(kind: Kind): RulePlace[] {
  const schemas = [{ schema: kind.schema, at: [] }, ...kind.parts]
  return schemas.flatMap(({ schema, at }) =>
    RULES.filter(({ on }) => on === schema || (Array.isArray(on) && on.includes(schema))).map((rule) => ({
      rule,
      kind,
      at,
    })),
  )
}

/** All rules of all kinds; a rule for a part of a schema appears once for each kind whose schema has the part. */
export const rulePlaces = (): RulePlace[] => KINDS.flatMap(rulePlacesOf)

/** The kinds to which a rule applies, each with the path of the values that the rule checks. */
export const placesOf = (rule: Rule): RulePlace[] => rulePlaces().filter((place) => place.rule === rule)

/** All rules without repeats, in the order of `rulePlaces`. */
export const allRules = (): Rule[] => [...new Set(rulePlaces().map(({ rule }) => rule))]

/** The kinds that rules read: the server watches these, and its ClusterRole allows no others. */
export function readKinds(): Kind[] {
  const read = new Set(RULES.flatMap(({ reads }) => reads))
  return KINDS.filter(({ kind }) => read.has(kind))
}

/** An example of a rule as a resource of one kind. `findings` are the exact texts; empty for a valid example. */
export interface PlacedExample {
  readonly title: string
  readonly resource: Record<string, unknown>
  readonly findings: readonly string[]
  readonly others: readonly Record<string, unknown>[]
  /** The stored resource, for an update. */
  readonly old?: Record<string, unknown>
}

/** The examples of a rule for one kind and path, valid ones first, each as a resource with this name. */
export function examplesAt(place: RulePlace, name = 'example'): PlacedExample[] {
  const { rule, kind, at } = place
  const prefix = at.length === 0 ? '' : `${pathText(at)}.`
  const placed = Object.entries(rule.examples)
    .flatMap(([title, examples]) => [examples].flat().map((example) => ({ title, ...example })))
    .filter((example) => example.kind === undefined || example.kind === kind.kind)
    .filter(({ part }) => part === (at.at(-1) === 'authzConfigRef' ? 'authzConfigRef' : undefined))
    .map((example) => ({
      title: example.title,
      resource: exampleResource(place, example, name),
      findings: [example.findings ?? []].flat().map((text) => `${prefix}${text} (${rule.id})`),
      others: (example.others ?? []).map(otherResource),
      ...(example.old !== undefined && {
        old: exampleResource(place, { ...example, value: example.old }, name),
      }),
    }))
  return validFirst(placed)
}

/** All examples of a rule without repeats, each for the first kind and path that it fits. Titles identify examples. */
export function examplesOf(rule: Rule): PlacedExample[] {
  const found = new Map<string, PlacedExample>()
  for (const place of placesOf(rule)) {
    for (const example of examplesAt(place)) {
      if (!found.has(example.title)) found.set(example.title, example)
    }
  }
  return validFirst([...found.values()])
}

const validFirst = (examples: readonly PlacedExample[]): PlacedExample[] =>
  examples.toSorted((a, b) => Math.sign(a.findings.length) - Math.sign(b.findings.length))

/**
 * An example of a rule as a resource that can be applied. When the rule checks a single field, the example contains
 * only the value of this field, which is put into an otherwise valid resource.
 */
function exampleResource(
  { kind, at }: RulePlace,
  { value, annotations }: Pick<Example<unknown>, 'value' | 'annotations'>,
  name: string,
): Record<string, unknown> {
  const envelope = {
    apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
    kind: kind.kind,
    metadata: { name, namespace: 'default', ...(annotations && { annotations }) },
  }
  if (at.length === 0) return withDemanded(kind.kind, { ...envelope, ...(value as object) })
  const field = at.at(-1)
  const holder = HOLDERS[`${kind.kind} ${typeof field === 'string' ? field : ''}`]
  if (holder === undefined) throw new Error(`no holder for parts of ${kind.kind}`)
  return withDemanded(kind.kind, { ...envelope, spec: holder(value) })
}

/** An object that exists beside the judged one in an example of a rule, as a resource that can be applied. */
function otherResource({ kind, metadata, ...rest }: Other): Record<string, unknown> {
  return withDemanded(kind, {
    apiVersion: kind === 'Secret' || kind === 'ConfigMap' ? 'v1' : `${DEFAULT_API_GROUP}/${API_VERSION}`,
    kind,
    metadata: { namespace: 'default', ...metadata },
    ...rest,
  })
}

/** Adds the fields that every release requires but the specification lacks, unless the example has them. */
function withDemanded(kind: string, resource: Record<string, unknown>): Record<string, unknown> {
  const { spec } = resource
  if (!isObject(spec)) return resource
  const given = { ...DEMANDED_OF_WORKLOADS[kind], ...spec }
  const { outgoingAuth } = spec
  if (!isObject(outgoingAuth) || !isObject(outgoingAuth.default)) return { ...resource, spec: given }
  if (!('externalAuthConfigRef' in outgoingAuth.default)) return { ...resource, spec: given }
  const fallback = { type: 'externalAuthConfigRef', ...outgoingAuth.default }
  return { ...resource, spec: { ...given, outgoingAuth: { ...outgoingAuth, default: fallback } } }
}

export const DEMANDED_OF_WORKLOADS: Readonly<Record<string, object>> = {
  MCPServer: { image: 'ghcr.io/example/server:1' },
  MCPRemoteProxy: { remoteUrl: 'https://remote.example.com/mcp' },
  MCPServerEntry: { remoteUrl: 'https://remote.example.com/mcp', transport: 'streamable-http' },
}

const CHECKED = { oidcConfigRef: { name: 'corporate', audience: 'tools' } }

/** By kind and field: a function that builds a valid spec around a value of the field. */
const HOLDERS: Readonly<Record<string, (part: unknown) => object>> = {
  'MCPExternalAuthConfig embeddedAuthServer': (embeddedAuthServer) => ({
    type: 'embeddedAuthServer',
    embeddedAuthServer,
  }),
  'MCPServer authzConfig': (authzConfig) => ({ ...CHECKED, authzConfig }),
  'MCPRemoteProxy authzConfig': (authzConfig) => ({ ...CHECKED, authzConfig }),
  'MCPServer authzConfigRef': (authzConfigRef) => ({ ...CHECKED, authzConfigRef }),
  'MCPRemoteProxy authzConfigRef': (authzConfigRef) => ({ ...CHECKED, authzConfigRef }),
  'VirtualMCPServer authzConfigRef': (authzConfigRef) => ({
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'oidc', ...CHECKED, authzConfigRef },
  }),
  'VirtualMCPServer authzConfig': (authzConfig) => ({
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'oidc', ...CHECKED, authzConfig },
  }),
  'VirtualMCPServer authServerConfig': (authServerConfig) => ({
    groupRef: { name: 'tools' },
    incomingAuth: {
      type: 'oidc',
      oidcConfigRef: {
        name: 'tools',
        audience: 'https://auth.example.com',
        resourceUrl: 'https://auth.example.com',
      },
    },
    authServerConfig,
  }),
}
