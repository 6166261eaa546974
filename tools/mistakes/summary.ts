import { CLASSES, type Class, type Undecidable } from './classes.ts'
import type { Catchers } from './judges.ts'

/** A mistake, and who catches it. */
export interface JudgedMistake extends Catchers {
  readonly class: Class
  readonly undecidable: Undecidable | undefined
  /** The field, with its kind: `MCPServer spec.groupRef.name`. */
  readonly field: string
}

/** How many mistakes, and how many of them each one catches. */
export interface Counts {
  readonly mistakes: number
  readonly decidable: number
  /** Of the decidable ones. */
  readonly editor: number
  readonly check: number
  readonly denied: number
  readonly warned: number
  readonly crd: number
  /** Caught by `check` or by the webhook. */
  readonly caught: number
  /** Caught neither by `check`, nor by the webhook, nor by the CRD. */
  readonly missed: number
  /** Caught with a finding at the changed field, or one that names the field. */
  readonly named: number
  /** Caught by `check`, the webhook or the CRD, among all mistakes, undecidable ones too. */
  readonly caughtOfAll: number
  /** Decidable mistakes that the CRD accepts, and how many of them `check` or the webhook catches. */
  readonly meaning: number
  readonly meaningCaught: number
}

const isCaught = ({ check, webhook }: JudgedMistake): boolean => check || webhook !== 'no'

/** Whether the mistake is decidable, and neither `check`, nor the webhook, nor the CRD catches it. */
export const isMissed = (each: JudgedMistake): boolean =>
  each.undecidable === undefined && !isCaught(each) && !each.crd

export function countsOf(judged: readonly JudgedMistake[]): Counts {
  const decidable = judged.filter(({ undecidable }) => undecidable === undefined)
  const count = (isSo: (each: JudgedMistake) => boolean, among: readonly JudgedMistake[] = decidable) =>
    among.filter(isSo).length
  const meaning = decidable.filter(({ crd }) => !crd)
  return {
    mistakes: judged.length,
    decidable: decidable.length,
    editor: count(({ editor }) => editor),
    check: count(({ check }) => check),
    denied: count(({ webhook }) => webhook === 'denied'),
    warned: count(({ webhook }) => webhook === 'warned'),
    crd: count(({ crd }) => crd),
    caught: count(isCaught),
    missed: count(isMissed),
    named: count((each) => isCaught(each) && each.isNamed),
    caughtOfAll: count((each) => isCaught(each) || each.crd, judged),
    meaning: meaning.length,
    meaningCaught: count(isCaught, meaning),
  }
}

/** The counts of each class, in the order of the classes, and of each field, by name. */
export const byClass = (judged: readonly JudgedMistake[]): readonly (readonly [Class, Counts])[] => {
  const groups = Map.groupBy(judged, (each) => each.class)
  return (Object.keys(CLASSES) as Class[]).flatMap((name) => {
    const group = groups.get(name)
    return group === undefined ? [] : [[name, countsOf(group)] as const]
  })
}

export const byField = (judged: readonly JudgedMistake[]): readonly (readonly [string, Counts])[] =>
  [...Map.groupBy(judged, ({ field }) => field)]
    .map(([field, group]) => [field, countsOf(group)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
