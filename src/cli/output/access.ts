import type { Outcome } from '../../access/difference/choice.ts'
import type { UndecidedChange } from '../../access/difference/compare.ts'
import { type Entry, entryPath } from '../../access/difference/entries.ts'
import {
  type CallerOutcome,
  entryOf,
  type ForReleases,
  type PartDifference,
} from '../../access/difference/states.ts'
import { unusualClaim } from '../../access/difference/usual.ts'
import type { TokenChange } from '../../access/role/caller-tokens.ts'
import { type Claims, claimPath } from '../../access/role/claims.ts'
import { oneLine } from './one-line.ts'
import { counted, type Located, type ReportedFinding, type Unread } from './report.ts'
import { cellCode, json, markdown, markdownCode, visible } from './visible.ts'

/** An access that callers gain, or may gain, and that `--deny-new` does not allow. */
export interface Denied {
  readonly entry: Entry
  /** A description of the access; empty when it could not be decided which access callers gain. */
  readonly access: string
  readonly isProved: boolean
}

export interface AccessReport {
  /** Number of role mappings and policies that were compared. */
  readonly compared: number
  readonly differences: readonly PartDifference[]
  readonly denied: readonly Denied[]
  readonly unread: readonly Unread[]
}

/** The effect of a change on a caller; `moves`: to other access; `falls back`: to the role in `fallbackRoleArn`. */
type AccessEffect = 'gains' | 'loses' | 'falls back' | 'moves'

function effectOf({ old, new: now }: { readonly old: Outcome; readonly new: Outcome }): AccessEffect {
  if (now.access === undefined) return 'loses'
  if (old.access === undefined) return 'gains'
  return now.by === 'fallbackRoleArn' ? 'falls back' : 'moves'
}

export const nameOf = ({ kind, namespace, name }: Entry): string => `${kind} ${namespace}/${name}`
/** The phrase for no access: an `awsSts` grants roles, the policy of a trusted issuer allows exchanges of tokens. */
export const noneOf = ({ key }: Entry): string => (key === 'awsSts' ? 'no role' : 'no exchange')
const accessName = (entry: Entry, { access }: Outcome): string => access ?? noneOf(entry)
const outcomeText = (entry: Entry, outcome: Outcome): string =>
  `${accessName(entry, outcome)} (${outcome.by})`
const claimsText = (claims: Claims): string => JSON.stringify(claims)

const isSame = ({ changes, undecided, tokens }: PartDifference): boolean =>
  changes.length + undecided.length + tokens.length === 0

/** An example of a caller's claims, with a remark when a claim has an unusual JSON type. */
export function exampleText(claims: Claims, { callerTokens }: Entry): string {
  const unusual = unusualClaim(claims)
  if (unusual !== undefined)
    return `${claimsText(claims)} (identity providers issue ${claimPath(unusual)} in another form)`
  const { partly } = callerTokens
  return partly !== undefined && Object.keys(claims).some(partly.lacks)
    ? `${claimsText(claims)} (a caller of ${partly.others})`
    : claimsText(claims)
}

/** The changes for callers with claims such as identity providers issue, and a line about the other changes. */
function changesIn({ changes }: PartDifference): { readonly shown: typeof changes; readonly rest: string[] } {
  const shown = changes.filter(({ witness }) => unusualClaim(witness) === undefined)
  const hidden = changes.flatMap(({ witness }) => unusualClaim(witness) ?? [])
  const [first] = hidden
  if (first === undefined) return { shown, rest: [] }
  return {
    shown,
    rest: [
      `${counted(hidden.length, 'change')} for callers with a form of ${claimPath(first)} that identity providers do not issue: see --output json`,
    ],
  }
}

const tokenText = ({ sender, new: now }: TokenChange): string => `${sender} sends STS ${now}`

/** The report for people: all changes of access, each with an example caller. */
export function accessPage(report: AccessReport): string {
  const lines = [
    ...report.differences.filter((each) => !isSame(each)).flatMap(partLines),
    ...report.denied.map(deniedText),
    ...(report.denied.length === 0 ? [] : ['']),
    summary(report),
  ]
  return lines.map((line) => `${visible(line)}\n`).join('')
}

function partLines(difference: PartDifference): string[] {
  const { undecided, more, tokens } = difference
  const { shown, rest } = changesIn(difference)
  const entry = entryOf(difference)
  const state =
    difference.old === undefined ? ', which is new' : difference.new === undefined ? ', which is removed' : ''
  return [
    `${nameOf(entry)}: ${entryPath(entry)}${state}`,
    ...tokens.flatMap((token) => [`  token: ${tokenText(token)}`, `    before: ${token.old}`]),
    ...shown.flatMap((change) => [
      `  ${effectOf(change)}: ${outcomeText(entry, change.new)}${inReleases(change)}`,
      `    before: ${outcomeText(entry, change.old)}`,
      `    example: ${exampleText(change.witness, entry)}`,
    ]),
    ...rest.map((line) => `  ${line}`),
    ...(more ? [`  ${MORE}`] : []),
    ...undecided.map((each) => `  not decided: ${undecidedText(each)}${inReleases(each)}`),
    '',
  ]
}

export const inReleases = ({ releases }: ForReleases): string =>
  releases === 'all' ? '' : ` (operator releases ${releases})`

function undecidedText({ access, question, why }: UndecidedChange): string {
  const subject = access === '' ? 'whether more changes' : `whether somebody ${QUESTIONS[question]} ${access}`
  return `${subject}: ${why}`
}

const MORE = 'not decided: whether callers also move between these in other ways'

const QUESTIONS = { gains: 'newly gets', loses: 'no longer gets' } as const

const deniedText = ({ entry, access, isProved }: Denied): string =>
  isProved
    ? `denied: ${nameOf(entry)}: somebody newly gets ${access}`
    : `denied: ${nameOf(entry)}: it is not decided whether somebody newly gets ${access || 'another role'}`

function summary({ compared, differences }: AccessReport): string {
  const different = differences.filter(({ changes, tokens }) => changes.length + tokens.length > 0).length
  const open = differences.filter(({ undecided }) => undecided.length > 0).length
  if (compared === 0) return 'nothing decides access by claims here'
  if (different > 0) return `access differs in ${different} of ${counted(compared, 'configuration')}`
  return open > 0
    ? `no difference was found, but not everything is decided`
    : `no difference for any caller, proved for ${counted(compared, 'configuration')}`
}

/** The report as a comment on a pull request. */
export function accessMarkdown(report: AccessReport): string {
  const lines = [
    `**${summary(report)}**`,
    '',
    ...report.denied.map((each) => `- ${cellCode(deniedText(each))}`),
    ...(report.denied.length === 0 ? [] : ['']),
    ...report.differences.filter((each) => !isSame(each)).flatMap(partMarkdown),
  ]
  return `${lines.join('\n').trimEnd()}\n`
}

function partMarkdown(difference: PartDifference): string[] {
  const { undecided, more, tokens } = difference
  const { shown, rest } = changesIn(difference)
  const entry = entryOf(difference)
  const rows = shown.map((change) =>
    [
      `${effectOf(change)}${markdown(inReleases(change))}`,
      ...[change.old, change.new].map(
        (outcome) => `${cellCode(accessName(entry, outcome))}<br>${markdown(outcome.by)}`,
      ),
      cellCode(exampleText(change.witness, entry)),
    ].join(' | '),
  )
  return [
    `${markdownCode(nameOf(entry))}, ${markdownCode(entryPath(entry))}`,
    '',
    ...tokens.map((token) => `- token: ${markdown(tokenText(token))}, before: ${markdown(token.old)}`),
    ...(tokens.length === 0 ? [] : ['']),
    ...(rows.length === 0
      ? []
      : [
          '| | Before | After | Example of a caller |',
          '| --- | --- | --- | --- |',
          ...rows.map((row) => `| ${row} |`),
          '',
        ]),
    ...rest.flatMap((line) => [`- ${markdown(line)}`, '']),
    ...(more ? [`- ${MORE}`, ''] : []),
    ...undecided.map((each) => `- not decided: ${markdown(undecidedText(each) + inReleases(each))}`),
    ...(undecided.length === 0 ? [] : ['']),
  ]
}

export function accessJson(report: AccessReport): string {
  const { compared, differences, denied, unread } = report
  return json({
    version: 1,
    compared,
    verdict: verdictOf(report),
    differences: differences.map((difference) => {
      const { changes, undecided, more, tokens } = difference
      return {
        ...subjectOf(entryOf(difference)),
        changes: changes.map((change) => ({
          change: effectOf(change),
          old: outcomeJson(change.old),
          new: outcomeJson(change.new),
          example: change.witness,
          releases: change.releases,
        })),
        more,
        tokens,
        undecided: undecided.map(({ access, ...rest }) => ({
          access: access === '' ? null : access,
          ...rest,
        })),
      }
    }),
    denied: denied.map(({ entry, access, isProved }) => ({
      ...subjectOf(entry),
      access: access || null,
      proved: isProved,
    })),
    unread,
  })
}

export const subjectOf = (entry: Entry) => ({
  kind: entry.kind,
  namespace: entry.namespace,
  name: entry.name,
  path: entryPath(entry),
})

const outcomeJson = ({ access, by }: Outcome) => ({ access: access ?? null, by })

function verdictOf({ differences }: AccessReport): string {
  if (differences.some(({ changes, tokens }) => changes.length + tokens.length > 0)) return 'different'
  return differences.some(({ undecided }) => undecided.length > 0) ? 'not decided' : 'no difference'
}

/** The changes as findings, for code scanning. */
export function accessFindings(
  { differences, denied }: AccessReport,
  placeOf: (entry: Entry) => Pick<Located, 'file' | 'line' | 'column'>,
): ReportedFinding[] {
  return differences.flatMap((difference) => {
    const entry = entryOf(difference)
    const finding = (
      message: string,
      access: string | undefined,
      effect: AccessEffect | undefined,
    ): ReportedFinding => ({
      ...placeOf(entry),
      ...subjectOf(entry),
      severity: denied.some((each) => each.entry === entry && each.access === access)
        ? 'error'
        : effect === 'loses'
          ? 'advice'
          : 'warning',
      id: 'access-change',
      message,
      related: [],
      causes: [],
      fix: null,
    })
    return [
      ...difference.tokens.map((token) =>
        finding(`${tokenText(token)}, before: ${token.old}`, '', undefined),
      ),
      ...difference.changes.map((change) =>
        finding(
          `a caller ${WAYS[effectOf(change)]} ${outcomeText(entry, change.new)}, before: ${outcomeText(entry, change.old)}; example: ${exampleText(change.witness, entry)}${inReleases(change)}`,
          change.new.access,
          effectOf(change),
        ),
      ),
      ...difference.undecided.map((each) =>
        finding(`not decided: ${undecidedText(each)}${inReleases(each)}`, each.access, undefined),
      ),
    ]
  })
}

const WAYS = { gains: 'gets', loses: 'loses access:', 'falls back': 'falls back to', moves: 'gets' } as const

/** The access of given callers before and after, one line for each `awsSts` or policy that grants it. */
export function callersText(
  callers: readonly { readonly file: string; readonly outcomes: readonly CallerOutcome[] }[],
): string {
  const lines = callers.flatMap(({ file, outcomes }) => [
    `${oneLine(file)}:`,
    ...outcomes.flatMap((each) => [
      `  ${nameOf(entryOf(each))}: ${entryPath(entryOf(each))}${inReleases(each)}`,
      ...outcomeLines(each).map((line) => `    ${line}`),
    ]),
  ])
  return lines.map((line) => `${visible(line)}\n`).join('')
}

function outcomeLines(caller: CallerOutcome): string[] {
  const { oldOutcome: old, newOutcome: now, undecided = '' } = caller
  const text = (outcome: Outcome | undefined) =>
    outcome === undefined ? `not decided: ${undecided}` : outcomeText(entryOf(caller), outcome)
  if (old === undefined || now === undefined) return [`after: ${text(now)}`, `before: ${text(old)}`]
  return old.access === now.access
    ? [`the same: ${text(now)}`]
    : [`${effectOf({ old, new: now })}: ${text(now)}`, `before: ${text(old)}`]
}

export function callersJson(
  callers: readonly { readonly file: string; readonly outcomes: readonly CallerOutcome[] }[],
  unread: readonly Unread[],
): string {
  return json({
    version: 1,
    callers: callers.map(({ file, outcomes }) => ({
      file,
      outcomes: outcomes.map(({ oldOutcome: old, newOutcome: now, undecided, ...each }) => ({
        ...subjectOf(entryOf(each)),
        releases: each.releases,
        same: undecided === undefined && old?.access === now?.access,
        old: outcomeJson(old ?? { by: 'not decided' }),
        new: outcomeJson(now ?? { by: 'not decided' }),
        undecided: undecided ?? null,
      })),
    })),
    unread,
  })
}
