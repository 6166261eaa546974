import {
  type BackendChange,
  type GatewayChange,
  type PlanDifference,
  sidesOf,
} from '../../access/comparison.ts'
import type { Incoming } from '../../access/incoming.ts'
import { changesMermaid } from './plan-mermaid.ts'
import { markdown } from './visible.ts'

/** The first line of the comment on a pull request: a script finds its comment of an earlier run by this line. */
const MARK = '<!-- vmcp-admission plan -->'

/** The number of table rows that the comment on a pull request shows; further rows are folded. */
const SHOWN = 6

/** The possible effects of a change of authentication, the most important for a reviewer first. */
const MEANINGS = [
  'opens',
  'loses credentials',
  'closes',
  'gains credentials',
  'added',
  'removed',
  'changed',
] as const
type Meaning = (typeof MEANINGS)[number]

interface Row {
  readonly meaning: Meaning
  readonly gateway: string
  readonly what: string
  readonly before: string
  readonly after: string
}

/**
 * The changes of authentication as a Markdown comment on a pull request: the most important rows first, further rows
 * and a flowchart folded. `unread` is the number of files or objects that could not be read.
 */
export function changesMarkdown(changes: readonly GatewayChange[], unread: number): string {
  const rows = changes.flatMap(rowsOf).toSorted((a, b) => rank(a) - rank(b))
  const title = rows.length === 0 ? 'nothing changes of what a plan shows' : titleOf(rows)
  const head = [
    MARK,
    `**vMCP authentication:** ${title}`,
    ...(unread === 0 ? [] : ['', `**Not complete:** ${unread} not read; the log of the job says why.`]),
  ]
  if (rows.length === 0) return `${head.join('\n')}\n`
  const more = rows.slice(SHOWN)
  return [
    ...head,
    '',
    ...table(rows.slice(0, SHOWN)),
    ...(more.length === 0 ? [] : folded(`${more.length} more`, table(more))),
    ...folded('As a picture', ['```mermaid', changesMermaid(changes).trimEnd(), '```']),
    '',
  ].join('\n')
}

const rank = ({ meaning }: Row): number => MEANINGS.indexOf(meaning)

function rowsOf({ namespace, name, change, group, incoming, authServer, backends }: GatewayChange): Row[] {
  const gateway = `${namespace}/${name}`
  const row = (meaning: Meaning, what: string, before: string, after: string): Row[] => [
    { meaning, gateway, what, before, after },
  ]
  const part = (what: string, found: PlanDifference<{ readonly summary: string }> | null) =>
    found === null ? [] : row(verb(found), what, found.old?.summary ?? '', found.new?.summary ?? '')
  return [
    ...(incoming === null
      ? []
      : row(meaningOf(incoming), 'callers', incoming.old?.summary ?? '', incoming.new?.summary ?? '')),
    ...part('authorization server', authServer),
    ...(group === null || change !== 'changed'
      ? []
      : row('changed', 'MCPGroup', group.old?.name ?? 'not known', group.new?.name ?? 'not known')),
    ...backends.flatMap((backend) => {
      const [before, after] = sidesOf(backend)
      return row(meaningOfBackend(backend), backend.name, before, after)
    }),
  ]
}

const verb = ({ old, new: now }: PlanDifference<unknown>) =>
  old === null ? 'added' : now === null ? 'removed' : 'changed'

function meaningOf(incoming: PlanDifference<Incoming>): Meaning {
  const [was, is] = [incoming.old?.type === 'anonymous', incoming.new?.type === 'anonymous']
  if (is && !was) return 'opens'
  return was && incoming.new !== null ? 'closes' : verb(incoming)
}

function meaningOfBackend({ change, old, new: now }: BackendChange): Meaning {
  const [had, has] = [old, now].map((side) => side?.credentials ?? 'unknown')
  if (had === 'unknown' || has === 'unknown' || (had === 'sent') === (has === 'sent')) return change
  return had === 'sent' ? 'loses credentials' : 'gains credentials'
}

const IN_TITLE: Readonly<Record<Meaning, (n: number) => string>> = {
  opens: (n) => `**${n === 1 ? '1 gateway opens' : `${n} gateways open`} to anyone**`,
  'loses credentials': (n) =>
    `**${n === 1 ? '1 backend loses its' : `${n} backends lose their`} credentials**`,
  closes: (n) => `${n === 1 ? '1 gateway is' : `${n} gateways are`} no longer open to anyone`,
  'gains credentials': (n) => `${n === 1 ? '1 backend gains' : `${n} backends gain`} credentials`,
  added: (n) => `${n} added`,
  removed: (n) => `${n} removed`,
  changed: (n) => `${n} changed`,
}

const titleOf = (rows: readonly Row[]): string =>
  MEANINGS.flatMap((meaning) => {
    const n = rows.filter((row) => row.meaning === meaning).length
    return n === 0 ? [] : [IN_TITLE[meaning](n)]
  }).join(', ')

const table = (rows: readonly Row[]): string[] => [
  '| Change | VirtualMCPServer | Of | Before | After |',
  '| --- | --- | --- | --- | --- |',
  ...rows.map(
    ({ meaning, gateway, what, before, after }) =>
      `| ${isGrave(meaning) ? `**${meaning}**` : meaning} | ${[gateway, what, before, after].map(markdown).join(' | ')} |`,
  ),
]

const isGrave = (meaning: Meaning): boolean => meaning === 'opens' || meaning === 'loses credentials'

const folded = (summary: string, lines: readonly string[]): string[] => [
  '',
  `<details><summary>${summary}</summary>`,
  '',
  ...lines,
  '',
  '</details>',
]
