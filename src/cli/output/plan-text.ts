import { type GatewayChange, type PlanDifference, sidesOf } from '../../access/comparison.ts'
import type { Outgoing } from '../../access/outgoing.ts'
import type { Group, Plan } from '../../access/effective-authentication.ts'
import { visible } from './visible.ts'

/** For each VirtualMCPServer: how clients authenticate, and a table of its backends. */
export function planText(plans: readonly Plan[]): string {
  const pages = plans.map((plan) => page(pageOf(plan)))
  return pages.length === 0 ? 'no VirtualMCPServer found\n' : pages.join('\n')
}

/** For each VirtualMCPServer with changes: its name, and a line for each change. */
export function changesText(changes: readonly GatewayChange[]): string {
  const pages = changes.map((change) => page(changeLines(change)))
  return pages.length === 0 ? 'nothing changes of what a plan shows\n' : pages.join('\n')
}

const page = (lines: readonly string[]): string =>
  lines.map((line) => `${visible(line.trimEnd())}\n`).join('')

function pageOf({ namespace, name, group, incoming, authServer, backends, notes: ofAll }: Plan): string[] {
  const notes = new Footnotes()
  const rows = backends.map((backend) => cells(backend, notes))
  return [
    `VirtualMCPServer ${name} (namespace ${namespace}), ${groupText(group)}`,
    `  incoming: ${incoming.summary}`,
    ...(authServer === null ? [] : [`  embedded authorization server: ${authServer.summary}`]),
    ...ofAll.map((note) => `  note: ${note}`),
    '',
    ...(rows.length === 0 ? ['  no backends found'] : table(rows)),
    ...notes.lines(),
  ]
}

function groupText({ name, reason }: Group): string {
  const why = reason === null ? '' : ` (${reason})`
  return `${name === null ? 'no MCPGroup known' : `MCPGroup ${name}`}${why}`
}

/** Numbers texts for footnotes; equal texts get the same number. */
class Footnotes {
  readonly #numbers = new Map<string, number>()

  /** The footnote marks of these texts, such as `[1] [3]`. */
  marks(texts: readonly string[]): string {
    return texts
      .map((text) => {
        const number = this.#numbers.get(text) ?? this.#numbers.size + 1
        this.#numbers.set(text, number)
        return `[${number}]`
      })
      .join(' ')
  }

  lines(): string[] {
    const lines = Array.from(this.#numbers, ([text, number]) => `  [${number}] ${text}`)
    return lines.length === 0 ? [] : ['', ...lines]
  }
}

const HEADS = ['BACKEND', 'STRATEGY', 'CONFIG', 'FROM', 'TOKEN', 'HEADER', 'NOTE']

function cells(backend: Outgoing, notes: Footnotes): string[] {
  const { config, source, credentials, reason, type, placement } = backend
  const strategy = placement === null ? 'not known' : type
  const why = credentials === 'unavailable' ? `NOT AVAILABLE: ${reason ?? ''}` : (reason ?? '')
  return [
    backendText(backend),
    credentials === 'none' ? 'NO CREDENTIALS' : (strategy ?? ''),
    config ?? '-',
    source === 'unknown' ? 'not known' : source,
    tokenText(backend),
    headerText(backend),
    [why, notes.marks(backend.notes)].filter((text) => text !== '').join(' '),
  ].map(visible)
}

function backendText({ kind, name }: Pick<Outgoing, 'kind' | 'name'>): string {
  if (kind === null) return `${name} (not in the group)`
  return kind === 'MCPServer' ? name : `${name} (${kind})`
}

function tokenText({ token, provider, chosen, credentials, placement }: Outgoing): string {
  switch (token) {
    case 'upstream':
      return `${provider ?? 'not known'}${chosen === 'given' || chosen === null ? '' : CHOSEN[chosen]}`
    case 'vmcp':
      return 'vMCP-issued JWT'
    case 'secret':
      return 'Secret'
    case 'role':
      return `${provider ?? (credentials === 'unknown' ? 'not known' : 'caller')}${chosen === 'first' ? CHOSEN.first : ''} → AWS STS`
    case null:
      return credentials === 'unknown' && placement === 'header' ? 'not known' : '-'
  }
}

const CHOSEN = { first: ' (first provider)', written: ' (written by /mutate)' }

function headerText({ placement, header }: Outgoing): string {
  if (placement === 'header') return header ?? 'not known'
  return placement ?? '-'
}

/** Rows as lines with aligned columns; the last column (notes) is left out when it is empty in all rows. */
function table(rows: readonly (readonly string[])[]): string[] {
  const lines = [HEADS, ...rows]
  const widths = HEADS.map((_, i) => Math.max(...lines.map((line) => lengthOf(line[i] ?? ''))))
  const noted = rows.some((row) => row.at(-1) !== '')
  return lines.map((line) => {
    const shown = noted ? line : line.slice(0, -1)
    return `  ${shown.map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - lengthOf(cell))).join('  ')}`
  })
}

const lengthOf = (text: string): number => [...text].length

const SIGNS = { added: '+', removed: '-', changed: '~' }

function changeLines({
  namespace,
  name,
  change,
  group,
  incoming,
  authServer,
  backends,
}: GatewayChange): string[] {
  const notes = new Footnotes()
  const side = (outgoing: Outgoing | null, text: string) =>
    outgoing === null ? '' : [text, notes.marks(outgoing.notes)].filter((part) => part !== '').join(' ')
  const whole = change !== 'changed'
  return [
    `VirtualMCPServer ${name} (namespace ${namespace})${whole ? `: ${change}` : ''}`,
    ...differenceLines('MCPGroup', group, ({ name, reason }) => name ?? `not known (${reason ?? ''})`),
    ...differenceLines('incoming', incoming, ({ summary }) => summary),
    ...differenceLines('embedded authorization server', authServer, ({ summary }) => summary),
    ...backends.map((backend) => {
      const [before, after] = sidesOf(backend)
      const texts = [side(backend.old, before), side(backend.new, after)]
      return `  ${SIGNS[backend.change]} ${backendText(backend)}: ${texts.filter((text) => text !== '').join(' → ')}`
    }),
    ...notes.lines(),
  ]
}

function differenceLines<T>(
  word: string,
  found: PlanDifference<T> | null,
  textOf: (side: T) => string,
): string[] {
  if (found === null) return []
  const sides = [found.old, found.new].filter((side) => side !== null).map(textOf)
  const sign = found.old === null ? '+' : found.new === null ? '-' : '~'
  return [`  ${sign} ${word}: ${sides.join(' → ')}`]
}
