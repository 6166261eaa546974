import { isObject, jsonKey, pathText, shownPath, valueAt, withoutUserInfo } from '../../src/rule/index.ts'
import { mistakesIn, sampled } from './all.ts'
import { type GivenDocument, Judges, type MistakeJudging } from './judges.ts'
import type { Mistake } from './mistake.ts'
import type { JudgedMistake } from './summary.ts'
import { linkObjects, type LinkedObject } from './linked-objects.ts'

/** A mistake that was made, with the object and who caught it. */
export interface Made extends JudgedMistake {
  readonly file: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** With indexes: `spec.upstreamProviders[0].name`. */
  readonly path: string
  /** The replaced value and the new one. */
  readonly change: string
}

export interface Coverage {
  /** All mistakes that there are; `made` may be some of them. */
  readonly mistakes: number
  readonly objects: number
  readonly made: readonly Made[]
}

export interface Sample {
  /** At most so many mistakes are made; all where it is 0. */
  readonly limit: number
  readonly seed: number
  /** Also in fields that do not bear on authentication. */
  readonly everyField?: boolean
}

/** Most objects that are judged beside mistakes where somebody gave a limit: beside each mistake all others may be. */
const MOST_JUDGED = 200_000

/** Makes one mistake after the other in the given documents; `tell` gets the number done and the number of all. */
export function coverageOf(
  given: readonly GivenDocument[],
  judging: MistakeJudging,
  { limit, seed, everyField }: Sample,
  tell: (done: number, of: number) => void = () => undefined,
): Coverage {
  const values = given.map(({ value }) => value)
  const linked = linkObjects(values, judging, judging.installed)
  const judges = new Judges(given, judging)
  const all = [...mistakesIn(linked, everyField)].filter((mistake) => !judges.isWrongAlready(mistake))
  const chosen = sampled(all, limit === 0 ? 0 : Math.min(limit, Math.ceil(MOST_JUDGED / given.length)), seed)
  const objects = new Map(linked.objects.map((object) => [object.index, object]))
  const made = chosen.flatMap((mistake, i): Made[] => {
    tell(i, chosen.length)
    const object = objects.get(mistake.object)
    const file = given[mistake.object]?.file
    return object === undefined || file === undefined
      ? []
      : [{ ...describe(mistake, object), file, ...judges.catchers(mistake) }]
  })
  return { mistakes: all.length, objects: linked.objects.length, made }
}

function describe(mistake: Mistake, { kind, namespace, name, value }: LinkedObject) {
  const { change, undecidable } = mistake
  const named = change.at.map((segment) => (typeof segment === 'number' ? '[]' : segment))
  return {
    class: mistake.class,
    undecidable,
    field: `${kind.kind} ${pathText(named.map((each) => (typeof each === 'object' ? { key: '<name>' } : each))).replaceAll('.[]', '[]')}`,
    kind: kind.kind,
    namespace,
    name,
    path: shownPath(change.at),
    change: changeText(mistake, valueAt(value, change.at), namespace),
  }
}

function changeText({ change }: Mistake, before: unknown, namespace: string): string {
  if (change.op === 'remove') return 'removed'
  if (change.op === 'rename') return `${String(jsonKey(change.at.at(-1) ?? ''))} → ${change.to}`
  if (change.at[0] === 'metadata' && change.at.length === 1 && isObject(change.value))
    return `namespace ${namespace} → ${String(change.value.namespace)}`
  return `${shown(before)} → ${shown(change.value)}`
}

const LONGEST = 60

function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : withoutUserInfo(JSON.stringify(value))
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1).toWellFormed()}…`
}
