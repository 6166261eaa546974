import { type Entry, entryPath } from '../../access/difference/entries.ts'
import type { ForReleases } from '../../access/difference/states.ts'
import type { Grant } from '../../access/difference/who.ts'
import { exampleText, inReleases, nameOf, noneOf, subjectOf } from './access.ts'
import { counted, type Unread } from './report.ts'
import { cellCode, json, markdown, markdownCode, visible } from './visible.ts'

type Found = Grant & ForReleases

/** The callers who get the wanted roles. */
export interface WhoReport {
  /** The patterns for names of roles that were given in `--who`. */
  readonly asked: readonly string[]
  /** Number of role mappings and policies that were read. */
  readonly read: number
  readonly parts: readonly { readonly entry: Entry; readonly grants: readonly Found[] }[]
  readonly unread: readonly Unread[]
}

interface Row {
  readonly entry: Entry
  readonly grant: Found
}

/** The fields that grant a wanted role, grouped by role. */
function byAccess({ parts }: WhoReport): Map<string, Row[]> {
  const rows = parts.flatMap(({ entry, grants }) => grants.map((grant) => ({ entry, grant })))
  return Map.groupBy(rows, ({ grant }) => grant.access || 'some role')
}

/** The report for people: each role, the fields that grant it, and their callers. */
export function whoPage(report: WhoReport): string {
  const lines = [
    ...[...byAccess(report)].flatMap(([access, rows]) => [access, ...rows.flatMap(rowLines), '']),
    summary(report),
  ]
  return lines.map((line) => `${visible(line)}\n`).join('')
}

function rowLines({ entry, grant }: Row): string[] {
  const place = `  ${nameOf(entry)}: ${placeIn(entry, grant)}${inReleases(grant)}`
  if (grant.answer.is === 'nobody') return [place, `    nobody, proved: ${grant.answer.why}`]
  return [
    place,
    `    callers: ${callersOf(grant)}`,
    ...listed(grant.except.map((each) => takenText(entry, each))).map((line) => `    but not: ${line}`),
    ...(grant.isMinimal
      ? []
      : ['    perhaps shorter: the search for a shorter description reached its bound']),
    grant.answer.is === 'somebody'
      ? `    example: ${exampleText(grant.answer.example, entry)}`
      : `    not decided: whether anybody gets it: ${grant.answer.why}`,
  ]
}

const placeIn = (entry: Entry, { by }: Grant): string =>
  by === '' ? entryPath(entry) : `${entryPath(entry)}.${by}`
const callersOf = ({ callers }: Grant): string => callers ?? 'everyone'

/** The most lines `but not: …` for one field; each is about callers for whom an earlier mapping decides instead. */
const MOST_LISTED = 12

const listed = (lines: readonly string[]): readonly string[] =>
  lines.length <= MOST_LISTED
    ? lines
    : [...lines.slice(0, MOST_LISTED - 1), `and ${lines.length - MOST_LISTED + 1} more: see --output json`]

const takenText = (entry: Entry, { callers, by, access }: Grant['except'][number]): string =>
  access === null ? `${callers} (${noneOf(entry)})` : `${callers} (${by}: ${access})`

function summary(report: WhoReport): string {
  const { asked, read } = report
  const grants = report.parts.flatMap((part) => part.grants)
  const patterns = asked.join(', ')
  if (read === 0) return 'nothing decides access by claims here'
  if (grants.length === 0) return `nothing here gives a role that fits ${patterns}`
  const roles = new Set(grants.filter(({ answer }) => answer.is === 'somebody').map(({ access }) => access))
  if (roles.size > 0) return `somebody gets ${counted(roles.size, 'role')} of those that fit ${patterns}`
  return grants.some(({ answer }) => answer.is === 'not decided')
    ? `nobody was found who gets a role that fits ${patterns}, but not everything is decided`
    : `nobody gets a role that fits ${patterns}: proved for every caller`
}

/** The report in Markdown, for a comment or a document. */
export function whoMarkdown(report: WhoReport): string {
  const lines = [
    `**${markdown(summary(report))}**`,
    ...[...byAccess(report)].flatMap(([access, rows]) => [
      '',
      markdownCode(access),
      '',
      '| Given by | Callers | But not | Example of a caller |',
      '| --- | --- | --- | --- |',
      ...rows.map((row) => `| ${rowCells(row).join(' | ')} |`),
    ]),
  ]
  return `${lines.join('\n')}\n`
}

function rowCells({ entry, grant }: Row): string[] {
  const { answer } = grant
  const place = `${cellCode(nameOf(entry))}<br>${cellCode(placeIn(entry, grant))}${markdown(inReleases(grant))}`
  if (answer.is === 'nobody') return [place, `nobody, proved: ${markdown(answer.why)}`, '', '']
  return [
    place,
    cellCode(callersOf(grant)),
    listed(grant.except.map((each) => takenText(entry, each)))
      .map(cellCode)
      .join('<br>'),
    answer.is === 'somebody'
      ? cellCode(exampleText(answer.example, entry))
      : `not decided: ${markdown(answer.why)}`,
  ]
}

export function whoJson(report: WhoReport): string {
  return json({
    version: 1,
    asked: report.asked,
    accesses: Array.from(byAccess(report), ([access, rows]) => ({
      access,
      places: rows.map(({ entry, grant: { by, callers, except, isMinimal, answer, releases } }) => ({
        ...subjectOf(entry),
        by,
        answer: answer.is,
        example: answer.is === 'somebody' ? answer.example : null,
        why: answer.is === 'somebody' ? null : answer.why,
        callers,
        except,
        minimal: isMinimal,
        releases,
      })),
    })),
    unread: report.unread,
  })
}
