import type { Located } from './report.ts'
import type { CallerTokens } from '../../access/role/caller-tokens.ts'
import { claimPath } from '../../access/role/claims.ts'
import { commonRole, type MappingOutcome, placeOf, type ReleaseDecision } from '../../access/role/decide.ts'
import { oneLine } from './one-line.ts'
import { json, visible } from './visible.ts'
import type { SessionName } from '../../access/role/session-name.ts'

/** The role of one caller, together with what was asked: the MCPExternalAuthConfig and the kind of claims. */
export interface RoleReport {
  readonly config: { readonly namespace: string; readonly name: string }
  readonly claims: 'json' | 'token'
  /** The release in `--release`; empty for all releases. */
  readonly release: string
  /** The decisions, one for each group of releases with the same decision. */
  readonly outcomes: readonly ReleaseDecision[]
  readonly sessionName: SessionName
  readonly callerTokens: CallerTokens
  /** Given claims of the caller that tokens for this MCPExternalAuthConfig never contain. */
  readonly leftOut: readonly string[]
}

export function printRole(report: RoleReport): string {
  const { outcomes, sessionName } = report
  const lines = [
    ...outcomes.flatMap((outcome) => [...outcomeLines(outcome, outcomes.length > 1), '']).slice(0, -1),
    sessionLine(sessionName),
    ...tokenLines(report.callerTokens),
    ...unreachableLines(outcomes[0]?.mappings ?? []),
    ...notesOf(report).map((note) => `note: ${note}`),
  ]
  return `${lines.map(visible).join('\n')}\n`
}

function outcomeLines({ releases, mappings, role, reason }: ReleaseDecision, named: boolean): string[] {
  const table = mappings.length === 0 ? [] : [...columns([HEADS, ...mappings.map(row)]), '']
  const where = named ? ` with release ${releases}` : ''
  return [
    ...(named ? [`Release ${releases}:`] : []),
    ...table,
    `role${where}: ${role === undefined ? 'none' : oneLine(role)} (${reason})`,
  ]
}

function sessionLine({ claim, value, problem }: SessionName): string {
  const name = value === undefined ? 'none' : oneLine(value, 80)
  const line = `session name: ${name} (${oneLine(claimPath(claim))})`
  return problem === undefined ? line : `${line}, so the gateway answers 401: ${oneLine(problem)}`
}

function tokenLines({ tokens }: CallerTokens): string[] {
  return Array.from(tokens, ([sender, { text }]) => `token for STS: ${oneLine(text)} (${oneLine(sender)})`)
}

/** The most claims that are named in the note about claims that are left out of the decision. */
const MOST_LEFT_OUT = 5

export function leftOutNotes({
  callerTokens,
  leftOut,
}: Pick<RoleReport, 'callerTokens' | 'leftOut'>): string[] {
  const named = leftOut.slice(0, MOST_LEFT_OUT).map(claimPath)
  const rest = leftOut.length - named.length
  const claims = [...named, ...(rest === 0 ? [] : [`${rest} more`])].join(', ')
  if (leftOut.length > 0) return [oneLine(`${claims} left out: ${callerTokens.issued}`, 300)]
  const { partly } = callerTokens
  return partly === undefined
    ? []
    : [
        `the claims are those of a caller of ${partly.others}: other callers bring tokens of an embedded authorization server`,
      ]
}

function unreachableLines(mappings: readonly MappingOutcome[]): string[] {
  return mappings.flatMap((mapping) =>
    mapping.unreachable === undefined ? [] : [`warning: ${placeOf(mapping)} ${mapping.unreachable}`],
  )
}

/** Notes about the whole answer; a note that applies only to some releases names them. */
function notesOf(report: RoleReport): string[] {
  const { claims, release, outcomes } = report
  const notes = outcomes.flatMap((outcome) =>
    outcome.notes.map((note) => ({ note, releases: outcome.releases })),
  )
  const common = new Set(
    outcomes[0]?.notes.filter((note) => outcomes.every((each) => each.notes.includes(note))),
  )
  return [
    ...(claims === 'token' ? ['the claims are the payload of a JWT, whose signature is not verified'] : []),
    ...leftOutNotes(report),
    ...common,
    ...notes.flatMap(({ note, releases }) => (common.has(note) ? [] : [`with release ${releases}, ${note}`])),
    ...differenceNote(release, outcomes),
  ]
}

function differenceNote(release: string, outcomes: readonly ReleaseDecision[]): string[] {
  if (outcomes.length < 2) return []
  const same = new Set(outcomes.map(({ role }) => role)).size === 1
  const subject = same
    ? 'the releases decide in different ways, with the same result'
    : 'the role depends on the release of the operator'
  const advice =
    release === '' ? '--release shows one' : `it is not known which of these release ${release} does`
  return [`${subject}; ${advice}`]
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

export function printRoleJson(report: RoleReport): string {
  const { config, claims, release, outcomes, sessionName, callerTokens } = report
  return json({
    version: 1,
    role: commonRole(outcomes) ?? null,
    config,
    claims,
    release: release === '' ? null : release,
    outcomes: outcomes.map(({ releases, role, from, reason, mappings }) => ({
      releases,
      role: role ?? null,
      from,
      reason,
      mappings,
    })),
    sessionName,
    tokens: Object.fromEntries(Array.from(callerTokens.tokens, ([sender, { text }]) => [sender, text])),
    notes: notesOf(report),
    unread: [],
  })
}

/** The JSON report without a role, because the MCPExternalAuthConfig or the claims could not be read (`unread`). */
export function printUnreadJson(unread: readonly Located[]): string {
  const nothing = {
    version: 1,
    role: null,
    config: null,
    claims: null,
    release: null,
    outcomes: [],
    sessionName: null,
    tokens: {},
  }
  return json({ ...nothing, notes: [], unread })
}
