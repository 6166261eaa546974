import { fixAll } from '../../src/cli/fix/fix-all.ts'
import { knownRelease } from '../../src/configuration/known-releases.ts'
import { DEFAULT_SETTINGS } from '../../src/engine/settings.ts'
import { DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import type { Release } from '../../src/release/index.ts'

export const JUDGING = {
  group: DEFAULT_API_GROUP,
  namespace: 'default',
  strict: false,
  settings: DEFAULT_SETTINGS,
  release: undefined,
}

/** The newest operator release; it has all fields to which `fix` moves a value. */
export const NEWEST = knownRelease('0.63')

interface Fixing {
  readonly addDefaults?: boolean
  /** The namespace that the user gives by a flag. */
  readonly namespace?: string
  readonly release?: Release | undefined
}

/** Runs `fix` on one file: the new text, the titles of the changes, and the findings that are left. */
export const fixed = (text: string, { addDefaults = false, namespace = '', release }: Fixing = {}) => {
  const judging = { ...JUDGING, release }
  const { texts, changes, left } = fixAll(new Map([['a.yaml', text]]), judging, { addDefaults, namespace })
  return { text: texts.get('a.yaml') ?? '', titles: changes.map(({ title }) => title), left }
}

export const HEAD =
  'apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPExternalAuthConfig\nmetadata:\n  name: a\n'

/** The source text of a scalar, or a list or map of such texts. */
export type Written = string | readonly Written[] | { readonly [key: string]: Written }

/** The text of a configuration whose embedded authorization server has these members, written in a style. */
export function writtenAs(style: string, members: Written): string {
  const isJson = style.startsWith('JSON')
  const [end, unit] = style.endsWith('lines') ? ['\n', '  '] : ['', '']
  const inBraces = (value: Written, indent: string): string => {
    if (typeof value === 'string') return value
    const inner = indent + unit
    const parts = Array.isArray(value)
      ? value.map((item: Written) => inBraces(item, inner))
      : Object.entries(value).map(
          ([key, member]) => `${isJson ? `"${key}"` : key}: ${inBraces(member, inner)}`,
        )
    const [open = '', close = ''] = Array.isArray(value) ? '[]' : '{}'
    if (parts.length === 0) return open + close
    const between = end === '' ? (isJson ? ',' : ', ') : `,${end}${inner}`
    return `${open}${end}${end && inner}${parts.join(between)}${end}${end && indent}${close}`
  }
  const inBlock = (value: Written): string[] => {
    if (typeof value === 'string') return [value]
    if (Array.isArray(value))
      return value.flatMap((item: Written) =>
        inBlock(item).map((line, i) => `${i === 0 ? '- ' : '  '}${line}`),
      )
    return Object.entries(value).flatMap(([key, member]) => {
      if (typeof member === 'string') return [`${key}: ${member}`]
      if (Array.isArray(member) && member.length === 0) return [`${key}: []`]
      return [`${key}:`, ...inBlock(member).map((line) => `  ${line}`)]
    })
  }
  const head = { apiVersion: '"toolhive.stacklok.dev/v1beta1"', kind: '"MCPExternalAuthConfig"' }
  const spec = { type: '"embeddedAuthServer"', embeddedAuthServer: members }
  if (isJson) return inBraces({ ...head, metadata: { name: '"a"' }, spec }, '')
  const server =
    style === 'block'
      ? ['embeddedAuthServer:', ...inBlock(members).map((line) => `  ${line}`)]
      : [`embeddedAuthServer: ${inBraces(members, '  ')}`]
  return `${HEAD}spec:\n  type: embeddedAuthServer\n  ${server.join('\n  ')}\n`
}
