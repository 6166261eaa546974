import { diffArrays } from 'diff'
import {
  ALL_DEFAULTS,
  createJudge,
  DEFAULT_SETTINGS,
  ENGINE_IDS,
  type EngineId,
  presentId,
} from '../../engine/index.ts'
import { describedId, pathOf } from '../../kinds/documentation.ts'
import { DEFAULT_API_GROUP, kindNamed } from '../../kinds/index.ts'
import { allRules, examplesOf, type PlacedExample } from '../../kinds/places.ts'
import { metadataOf, type Rule } from '../../rule/index.ts'
import { PROGRAM } from '../program-name.ts'
import { nameLine, placeLine, seenLine, severityLine, yamlLines } from './id-page.ts'
import { widthOf } from './terminal.ts'

/** The rows and columns of a terminal in which the explanation of a rule must fit. */
const SCREEN = { rows: 40, columns: 80 }
/** The most lines of an example that are shown: more lines do not make its mistake clearer. */
const MOST_LINES = 10

/**
 * The explanation of a finding's id, or of a former id, on one screen: the rule, the consequence, examples as the lines
 * that differ, and where to read more. Undefined for any other text.
 */
export function idScreen(named: string): string[] | undefined {
  const id = presentId(named)
  const rule = allRules().find((each) => each.id === id)
  const engineId = ENGINE_IDS.find((each) => each.id === id)
  const described = rule ?? engineId
  if (described === undefined) return undefined
  const head = [
    nameLine(described),
    '',
    described.summary,
    described.why,
    '',
    ...(rule === undefined ? [] : [placeLine(rule), ...seenLine(rule)]),
    severityLine(described),
    `page: ${pathOf(describedId(id))}`,
  ]
  const examples = rule === undefined ? correctedExample(engineId) : correctedExamples(rule)
  return [...head, ...fitting(examples, id, SCREEN.rows - rowsOf(head))]
}

/** The lines of the first example, of more examples as far as they fit into `rows`, and of a hint how to print all. */
function fitting(examples: readonly CorrectedExample[], id: string, rows: number): string[] {
  if (examples.length === 0) return []
  const shown = ['', 'examples (- is wrong, + is right):']
  const more = ['', `all examples, whole: ${PROGRAM} explain ${id} --examples`]
  for (const [i, example] of examples.entries()) {
    const lines = linesOf(example)
    if (i > 0 && rowsOf([...shown, ...lines, ...more]) > rows) break
    shown.push(...lines)
  }
  return [...shown, ...more]
}

const rowsOf = (lines: readonly string[]): number =>
  lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(widthOf(line) / SCREEN.columns)), 0)

function linesOf({ title, changes, findings }: CorrectedExample): string[] {
  const cut = changes.slice(0, MOST_LINES).map((line) => `  ${line}`)
  const left = changes.length - cut.length
  return [
    '',
    `${title}:`,
    ...cut.map((line) => (line.length > SCREEN.columns ? `${line.slice(0, SCREEN.columns - 1)}…` : line)),
    ...(left === 0 ? [] : [`  … ${left} more lines`]),
    ...findings.slice(0, 1).map((text) => `  => ${text}`),
  ]
}

/** An invalid example of a rule, and the lines in which it differs from a valid one. */
interface CorrectedExample {
  readonly title: string
  readonly changes: readonly string[]
  readonly findings: readonly string[]
}

/** The invalid examples of a rule, each compared with the most similar valid one; fewest differing lines first. */
function correctedExamples(rule: Rule): CorrectedExample[] {
  const all = examplesOf(rule)
  const accepted = all.filter(({ findings }) => findings.length === 0).map(objectsOf)
  const right = accepted.filter(violatesNoRule())
  return all
    .filter(({ findings }) => findings.length > 0)
    .map(({ title, findings, ...wrong }) => {
      const [nearest] = (right.length > 0 ? right : accepted)
        .map((each) => differencesOf(objectsOf(wrong), each))
        .toSorted(byCost)
      return { title, findings, changes: nearest?.lines ?? [], cost: nearest?.cost ?? NO_COST }
    })
    .toSorted(({ cost: a }, { cost: b }) => a.lines - b.lines)
}

/** Returns a function that tests whether objects violate no rule: a valid example of one rule may violate others. */
function violatesNoRule(): (objects: ReadonlyMap<string, object>) => boolean {
  const judge = createJudge({
    group: DEFAULT_API_GROUP,
    settings: DEFAULT_SETTINGS,
    release: 'specification',
    state: 'no cluster',
    defaults: ALL_DEFAULTS,
  })
  return (objects) =>
    [...objects.values()].every((object) => {
      const kind = kindNamed.get(String((object as { readonly kind: unknown }).kind))
      return (
        kind === undefined ||
        judge.stored({ kind, namespace: 'default', name: 'example', object }).errors.length === 0
      )
    })
}

function correctedExample({ example }: Pick<EngineId, 'example'> = {}): CorrectedExample[] {
  if (example === undefined) return []
  const { resource, corrected, findings } = example
  const { lines } = differencesOf(new Map([['', resource]]), new Map([['', corrected]]))
  return [{ title: 'found', changes: lines, findings }]
}

/** The objects of an example, by kind and name; the object that an update replaces has the key `stored before`. */
function objectsOf({
  resource,
  others,
  old,
}: Omit<PlacedExample, 'title' | 'findings'>): ReadonlyMap<string, object> {
  const named = [...others, resource].map((each): [string, object] => [
    `${String(each.kind)} ${String(metadataOf(each).name)}`,
    each,
  ])
  return new Map(old === undefined ? named : [...named, ['stored before', old]])
}

interface Changes {
  readonly lines: readonly string[]
  readonly cost: Cost
}

/**
 * The numbers of lines and of characters that differ between two examples. An object that only one of them has counts
 * with all its lines.
 */
interface Cost {
  readonly lines: number
  readonly characters: number
}

const NO_COST: Cost = { lines: 0, characters: 0 }

const byCost = ({ cost: a }: Pick<Changes, 'cost'>, { cost: b }: Pick<Changes, 'cost'>): number =>
  a.lines - b.lines || a.characters - b.characters

/** The differing lines of invalid and valid objects; with several objects, below the name of each. */
function differencesOf(wrong: ReadonlyMap<string, object>, right: ReadonlyMap<string, object>): Changes {
  const names = [...new Set([...wrong.keys(), ...right.keys()])]
  const all = names.map((name): Changes => {
    const [before, after] = [wrong.get(name), right.get(name)].map((each) => each && yamlLines(each))
    if (before === undefined || after === undefined)
      return {
        lines: [`${before === undefined ? '+' : '-'} ${name}`],
        cost: { lines: (before ?? after ?? []).length, characters: 0 },
      }
    const lines = changedLines(before, after)
    return {
      lines: lines.length > 0 && names.length > 1 ? [`${name}:`, ...lines] : lines,
      cost: { lines: lines.length, characters: differingCharacters(lines) },
    }
  })
  const sum = (of: keyof Cost) => all.reduce((total, { cost }) => total + cost[of], 0)
  return {
    lines: all.flatMap(({ lines }) => lines),
    cost: { lines: sum('lines'), characters: sum('characters') },
  }
}

/** The number of characters that differ when each removed line is compared with the added line of the same position. */
function differingCharacters(changed: readonly string[]): number {
  const [removed = [], added = []] = ['-', '+'].map((mark) => changed.filter((line) => line.startsWith(mark)))
  return removed.reduce((sum, line, i) => sum + differenceOf(line.slice(1), added[i]?.slice(1) ?? ''), 0)
}

/** The number of characters in two texts apart from their common beginning and their common end. */
function differenceOf(one: string, other: string): number {
  const shorter = Math.min(one.length, other.length)
  let start = 0
  while (start < shorter && one[start] === other[start]) start++
  let end = 0
  while (end < shorter - start && one.at(-1 - end) === other.at(-1 - end)) end++
  return one.length + other.length - 2 * (start + end)
}

/** The differing lines, each after a - or +, without the indent that all of them have. */
function changedLines(wrong: string[], right: string[]): string[] {
  const changed = diffArrays(wrong, right).flatMap(({ value, added, removed }) =>
    added || removed ? value.map((line) => ({ mark: added ? '+' : '-', line })) : [],
  )
  const blanks = Math.min(...changed.map(({ line }) => line.search(/\S|$/)))
  return changed.map(({ mark, line }) => `${mark} ${line.slice(blanks)}`)
}
