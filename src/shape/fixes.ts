/** The fixes of schema errors and unknown fields, as data: front ends apply them to their own text. */

import { mismatchFix } from '../kinds/pattern-advice.ts'
import {
  changedAt,
  type Edit,
  type Fix,
  jsonKey,
  type Moving,
  nearest,
  type Segment,
  setOwn,
  valueAt,
} from '../rule/index.ts'
import type { SchemaNode } from './pointer.ts'

const setting = (at: readonly Segment[], value: unknown, title: string): Fix => ({
  title,
  edits: [{ op: 'set', at, value }],
})

/** The fix of a value that violates a keyword of its schema; undefined when the intended value is not certain. */
export function schemaFix(
  keyword: string,
  at: readonly Segment[],
  value: unknown,
  node: SchemaNode | undefined,
): Fix | undefined {
  if (keyword === 'type') return typeFix(at, value, node)
  if (typeof value !== 'string') return undefined
  if (keyword === 'enum') {
    const near = nearest(value, (node?.enum ?? []).map(String))
    return near === undefined ? undefined : setting(at, near, `write '${near}'`)
  }
  if (keyword !== 'pattern' || node?.pattern === undefined) return undefined
  const fix = mismatchFix(node.pattern, value)
  return fix && setting(at, fix.text, fix.title)
}

/** The fix of a boolean in quotes, or of a reference written as a bare name, as in older releases. */
function typeFix(at: readonly Segment[], value: unknown, node: SchemaNode | undefined): Fix | undefined {
  if (typeof value !== 'string') return undefined
  if (node?.type === 'boolean' && (value === 'true' || value === 'false'))
    return setting(at, value === 'true', 'write it without quotes')
  const [only, ...others] = node?.required ?? []
  return node?.type === 'object' && only === 'name' && others.length === 0 && /^[a-z0-9.-]+$/.test(value)
    ? setting(at, { name: value }, `write {name: ${value}}`)
    : undefined
}

/** The fix that renames a misspelt field; undefined when the right field is present too, or has another type. */
export function renameFix(
  at: readonly Segment[],
  holder: Readonly<Record<string, unknown>>,
  near: string,
  node: { readonly type?: unknown } | undefined,
): Fix | undefined {
  const value = holder[jsonKey(at.at(-1) ?? '')]
  if (Object.hasOwn(holder, near) || !hasType(value, node?.type)) return undefined
  return { title: `rename it to '${near}', which takes effect then`, edits: [{ op: 'rename', at, to: near }] }
}

const hasType = (value: unknown, type: unknown): boolean =>
  type === (Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value) ||
  (type === 'integer' && Number.isInteger(value))

/** The object after an edit; unchanged parts are shared with the original. */
export function edited(object: object, edit: Edit): object {
  if (edit.op === 'move') return moved(object, edit)
  return changedAt(object, [edit], (holder, key) => {
    if (edit.op !== 'rename') {
      setOwn(holder, key, edit.value)
      return
    }
    const entries = Object.entries(holder)
    for (const [name] of entries) Reflect.deleteProperty(holder, name)
    for (const [name, value] of entries) setOwn(holder, name === key ? edit.to : name, value)
  })
}

/** In the paths of a fix that moves fields, a number is the index of a list. */
const isIndex = (step: string): boolean => /^\d+$/.test(step)

function moved(object: object, { at, moves, adds }: Moving): object {
  const root = structuredClone(object)
  const holder = valueAt(root, at)
  if (!isHolder(holder)) return root
  const taken = moves.map(({ from, to }) => ({ to, value: takenFrom(holder, from) }))
  for (const { at: place, value } of adds) putInto(holder, place, value)
  for (const { to, value } of taken) if (to !== undefined) putInto(holder, to, value)
  return root
}

type Holder = Record<string, unknown>
const isHolder = (value: unknown): value is Holder => typeof value === 'object' && value !== null

function takenFrom(holder: Holder, [step = '', ...rest]: readonly string[]): unknown {
  const member = holder[step]
  if (rest.length === 0) {
    Reflect.deleteProperty(holder, step)
    return member
  }
  if (!isHolder(member)) return undefined
  const taken = takenFrom(member, rest)
  if (!Array.isArray(member) && Object.keys(member).length === 0) Reflect.deleteProperty(holder, step)
  return taken
}

function putInto(holder: Holder, [step = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    setOwn(holder, step, value)
    return
  }
  const there = holder[step]
  const member = isHolder(there) ? there : ((isIndex(rest[0] ?? '') ? [] : {}) as Holder)
  if (member !== there) setOwn(holder, step, member)
  putInto(member, rest, value)
}
