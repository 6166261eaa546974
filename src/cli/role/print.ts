import type { Located } from '../report.ts'
import { claimPath } from './claims.ts'
import { type MappingOutcome, placeOf, type RoleDecision } from './decide.ts'
import { oneLine } from './one-line.ts'

/** What was asked, and the answer. */
export interface RoleReport extends RoleDecision {
  readonly config: { readonly namespace: string; readonly name: string }
  readonly claims: 'json' | 'token'
}

export function printRole(report: RoleReport): string {
  const { mappings, sessionName, role, reason, notes } = report
  const unreachable = mappings.flatMap((mapping) =>
    mapping.unreachable === undefined ? [] : [`warning: ${placeOf(mapping)} ${mapping.unreachable}`],
  )
  const table = mappings.length === 0 ? [] : [...columns([HEADS, ...mappings.map(row)]), '']
  const path = claimPath(sessionName.claim)
  const name = sessionName.value === undefined ? 'none' : oneLine(sessionName.value, 80)
  const lines = [
    ...table,
    `role: ${role === undefined ? 'none' : oneLine(role)} (${reason})`,
    sessionName.problem === undefined
      ? `session name: ${name} (${oneLine(path)})`
      : `session name: ${name} (${oneLine(path)}), so the gateway answers 401: ${oneLine(sessionName.problem)}`,
    ...unreachable,
    ...notes.map((note) => `note: ${note}`),
  ]
  return `${lines.join('\n')}\n`
}

const HEADS = ['mapping', 'priority', 'condition', 'role', 'result']

function row(mapping: MappingOutcome): string[] {
  const { claim, matcher, priority, roleArn, reason } = mapping
  const conditions = [
    ...(claim === undefined ? [] : [`claim ${claim}`]),
    ...(matcher === undefined ? [] : [`matcher ${matcher}`]),
  ]
  const condition = oneLine(conditions.join(', ') || 'none', 48)
  const role = oneLine(roleArn ?? 'none', 80)
  return [placeOf(mapping), String(priority ?? 'last'), condition, role, oneLine(reason)]
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = HEADS.map((_, i) => Math.max(...rows.map((cells) => [...(cells[i] ?? '')].length)))
  return rows.map((cells) =>
    cells
      .map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - [...cell].length))
      .join('  ')
      .trimEnd(),
  )
}

export function printRoleJson({ role, ...report }: RoleReport): string {
  return json({ role: role ?? null, ...report, unread: [] })
}

/** The same fields where nothing could be decided. */
export function printUnreadJson(unread: readonly Located[]): string {
  const nothing = { config: null, claims: null, from: null, reason: null, mappings: [], sessionName: null }
  return json({ role: null, ...nothing, notes: [], unread })
}

const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`
