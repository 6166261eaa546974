import { toggle, UsageError } from '../../configuration/flags.ts'
import { KINDS } from '../../kinds/index.ts'
import { allRules } from '../../kinds/places.ts'
import { ALL_IDS, ENGINE_IDS } from '../../engine/index.ts'
import { nearest } from '../../rule/index.ts'
import { defineCommand, type Invocation } from '../define-command.ts'
import { idPage } from '../output/id-page.ts'
import { idScreen } from '../output/id-screen.ts'
import { PROGRAM } from '../program-name.ts'
import { fieldPage, fieldPaths, fieldsAt, kindCalled, kindPage, placeText } from './explain-field.ts'

const FLAGS = { examples: toggle('print everything of an ID, with each example whole') }

export const explain = defineCommand({
  name: 'explain',
  summary: 'list every id that a finding can have',
  arguments: [
    [''],
    ['ID', 'print what a rule asks for, why, and how to mend it'],
    ['KIND', 'print the fields of a kind, and the rules about it'],
    ['PATH', 'print what a field is for, and the rules about it'],
  ],
  words: [...KINDS.map(({ kind }) => kind), ...[...ALL_IDS].toSorted()],
  flags: FLAGS,
  examples: ['role-mapping-matcher-compiles'],
  exitCodes: { 0: 'done' },
  run: printPage,
})

function printPage({ names: [name, more], flags: { examples } }: Invocation<typeof FLAGS>): number {
  if (more !== undefined)
    throw new UsageError(
      'name one id, as it ends a finding in parentheses, one kind, or the path of one field',
    )
  process.stdout.write(`${(name === undefined ? idLines() : pageOf(name, examples)).join('\n')}\n`)
  return 0
}

/** A line for each id that a finding can have, with its severity and summary. */
function idLines(): string[] {
  const all = [...allRules(), ...ENGINE_IDS]
  const width = Math.max(...all.map(({ id }) => id.length))
  return all
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, severity, summary }) => `${id.padEnd(width)}  ${severity.padEnd(7)}  ${summary}`)
}

function pageOf(name: string, examples: boolean): string[] {
  const page = examples ? idPage(name) : idScreen(name)
  if (page !== undefined) return page
  const kind = kindCalled(name)
  if (kind !== undefined) return kindPage(kind)
  const groups = fieldsAt(name)
  if (groups.length === 0) throw new UsageError(`'${name}' is not an id, a kind or a field${advice(name)}`)
  if (groups.length > MOST_PAGES)
    throw new UsageError(`'${name}' is in several places: ${listed(groups.flat().map(placeText), 'and')}`)
  return groups.flatMap((group, i) => [...(i === 0 ? [] : ['', '---', '']), ...fieldPage(group)])
}

/** The most pages that are printed for fields with the same name; a message lists the fields when there are more. */
const MOST_PAGES = 4
/** The most names that a message lists. */
const MOST_NAMES = 8

function listed(names: readonly string[], word: 'and' | 'or'): string {
  const shown = names.slice(0, MOST_NAMES)
  if (shown.length < names.length) return `${shown.join(', ')} and ${names.length - shown.length} more`
  return shown.length === 1
    ? names.join('')
    : `${shown.slice(0, -1).join(', ')} ${word} ${shown.at(-1) ?? ''}`
}

const quoted = (name: string): string => `'${name}'`

/** A suggestion for an unknown name: the ids that contain it, or else the most similar id, kind or field. */
function advice(name: string): string {
  const part = name.toLowerCase()
  const holding = part.length < 3 ? [] : [...ALL_IDS].filter((id) => id.toLowerCase().includes(part))
  const near = nearest(name, [...ALL_IDS, ...KINDS.map(({ kind }) => kind)]) ?? nearest(name, fieldPaths())
  if (holding.length > 0) return `; did you mean ${listed(holding.toSorted().map(quoted), 'or')}`
  if (near !== undefined) return `; did you mean ${quoted(near)}`
  return `; \`${PROGRAM} explain\` lists the ids, docs/fields.md the fields`
}
