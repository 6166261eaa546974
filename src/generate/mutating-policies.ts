import { KINDS } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { type SchemaDefaults, initial, schemaDefaults } from '../engine/index.ts'
import type { GeneratedFile } from './generated-file.ts'
import { API, matchingWritesOf, policyFile, policyName, STATIC } from './policy-parts.ts'

/**
 * The files with MutatingAdmissionPolicies, for the values `all` and `outside-lists` of the webhook's `--defaults`
 * (decision 23), and for the folder from which an API server loads policy files.
 */
const FILES = [
  {
    path: 'deploy/policies/defaults.yaml',
    inLists: true,
    comment: 'Writes documented defaults. With client-side kubectl apply: defaults-outside-lists.yaml.',
    suffix: '',
  },
  {
    path: 'deploy/policies/defaults-outside-lists.yaml',
    inLists: false,
    comment:
      'Writes documented defaults, but not into items of lists: a tool that compares lists as a whole sees no drift.',
    suffix: '',
  },
  {
    path: 'deploy/policies/static/mutating/vmcp-admission.yaml',
    inLists: true,
    comment:
      'defaults.yaml as a file of the API server: in the staticManifestsDir of its plugin MutatingAdmissionPolicy.',
    suffix: STATIC,
  },
] as const

/** deploy/policies/defaults*.yaml: the defaults of /mutate that do not depend on other objects (docs/policies.md). */
export function* mutatingPolicies(): Iterable<GeneratedFile> {
  const kinds = KINDS.filter((kind) => writtenDefaults(kind).length > 0)
  for (const { path, inLists, comment, suffix } of FILES) {
    const documents = kinds.flatMap((kind) => {
      const name = policyName(kind, suffix)
      return [policyOf(kind, name, inLists), bindingOf(name)]
    })
    yield policyFile(path, comment, documents)
  }
}

/** Stands for a default whose value is the namespace of the request. */
const NAMESPACE = Symbol('namespace')

/** An object whose absent fields get defaults. */
export interface DefaultsHolder {
  /** The path of the list that contains the object; undefined when the object is not in a list. */
  readonly list?: readonly string[]
  /** The path of the object: inside the item of `list` or, without `list`, in the resource. */
  readonly at: readonly string[]
  readonly defaults: readonly (readonly [field: string, value: unknown])[]
}

/** For a kind: the objects inside its resources whose absent fields get defaults; an absent object is not created. */
export function writtenDefaults(kind: Kind): DefaultsHolder[] {
  const defaults = schemaDefaults(kind)
  return defaults === undefined ? [] : [...holders(defaults, [])]
}

function* holders(
  { properties, items, values }: SchemaDefaults,
  at: readonly string[],
  list?: readonly string[],
): Iterable<DefaultsHolder> {
  if (values !== undefined || (items !== undefined && list !== undefined))
    throw new Error(`${at.join('.')}: policies write no defaults into maps or lists of lists`)
  if (items !== undefined) yield* holders(items, [], at)
  const defaults = properties.flatMap(([name, property]) => {
    const value = property.from === undefined ? initial(property, {}) : NAMESPACE
    return value === undefined ? [] : [[name, value] as const]
  })
  if (defaults.length > 0) yield { at, defaults, ...(list && { list }) }
  for (const [name, property] of properties) yield* holders(property, [...at, name], list)
}

function policyOf(kind: Kind, name: string, inLists: boolean) {
  const parts = [undefined, ...(inLists ? listsOf(kind) : [])].map((list) => {
    const holders = writtenDefaults(kind).filter((holder) => holder.list?.join() === list?.join())
    return { list, holders, name: list === undefined ? 'defaults' : `defaultsIn_${list.at(-1) ?? ''}` }
  })
  return {
    apiVersion: API,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name },
    spec: {
      ...matchingWritesOf(kind),
      reinvocationPolicy: 'IfNeeded',
      variables: parts.map(({ name, holders }) => ({ name, expression: table(holders) })),
      mutations: parts.map(({ list, holders, name }) => ({
        patchType: 'JSONPatch',
        jsonPatch: {
          expression: list === undefined ? added(name, holders) : addedInItems(name, holders, list),
        },
      })),
    },
  }
}

/** The paths of the lists whose items get defaults. */
function listsOf(kind: Kind): (readonly string[])[] {
  const lists = writtenDefaults(kind).flatMap(({ list }) => (list === undefined ? [] : [list]))
  return [...new Map(lists.map((list) => [list.join(), list])).values()]
}

const pointer = (steps: readonly string[]) => steps.map((step) => `/${step}`).join('')
const optional = (steps: readonly string[]) => steps.map((step) => `.?${step}`).join('')
const braced = (lines: readonly string[]) => `{\n${lines.map((line) => `  ${line},\n`).join('')}}`

/** A CEL map from the path of each object to the defaults of its fields. */
const table = (holders: readonly DefaultsHolder[]) =>
  braced(holders.map(({ at, defaults }) => `'${pointer(at)}': ${literal(Object.fromEntries(defaults))}`))

/** CEL for a patch: adds each absent or null field of an object that exists. */
function added(
  variable: string,
  holders: readonly DefaultsHolder[],
  root = 'dyn(object)',
  prefix = '',
): string {
  const there = holders.map(({ at }) => `'${pointer(at)}': ${root}${optional(at)}`)
  return `${braced(there)}.transformList(at, holder, holder.orValue(null) != null,
  variables.${variable}[at].transformList(field, value, holder.value()[?field].orValue(null) == null,
    JSONPatch{op: 'add', path: ${prefix}at + '/' + field, value: value})).flatten()`
}

function addedInItems(variable: string, holders: readonly DefaultsHolder[], list: readonly string[]): string {
  const inItem = added(variable, holders, 'item', `'${pointer(list)}/' + string(i) + `)
  return `dyn(object)${optional(list)}.orValue([]).transformList(i, item, ${inItem}).flatten()`
}

/** A value in CEL; `dyn` allows values of different types in one map. */
function literal(value: unknown): string {
  if (value === NAMESPACE) return 'request.namespace'
  if (typeof value === 'string') return `'${value}'`
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).map(([name, field]) => `'${name}': dyn(${literal(field)})`)
  return `{${fields.join(', ')}}`
}

const bindingOf = (name: string) => ({
  apiVersion: API,
  kind: 'MutatingAdmissionPolicyBinding',
  metadata: { name },
  spec: { policyName: name },
})
