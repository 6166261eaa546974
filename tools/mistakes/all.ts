import { schemaAt } from '../../src/release/index.ts'
import { deepEqual, jsonPointer, valueAt } from '../../src/rule/index.ts'
import { completed } from '../../src/engine/index.ts'
import { type Mistake, withMistake } from './mistake.ts'
import { formMistakes } from './of-form.ts'
import { meaningMistakes, namesIn } from './of-meaning.ts'
import { isOfAuthentication, sitesOf } from './site.ts'
import { hashOf } from './spelling.ts'
import type { LinkedObjects, LinkedObject } from './linked-objects.ts'

/**
 * Every mistake of the objects, in their order; none that means the same as what stands there. Those in fields that do not
 * bear on authentication, such as images and resources, only if `everyField`.
 */
export function* mistakesIn(linked: LinkedObjects, everyField = false): Generator<Mistake> {
  for (const object of linked.objects) {
    const names = namesIn(object, linked)
    for (const site of sitesOf(object)) {
      if (!everyField && !isOfAuthentication(site)) continue
      for (const mistakes of [formMistakes(site, linked), meaningMistakes(site, linked, names)])
        for (const mistake of mistakes) if (!meansTheSame(object, mistake)) yield mistake
    }
  }
}

/** Whether the defaults of /mutate or of the CRD make both objects equal. */
function meansTheSame({ kind, value, namespace, crd }: LinkedObject, mistake: Mistake): boolean {
  const { change } = mistake
  if (change.op !== 'remove' && mistake.class !== 'emptied') return false
  const byDefault = schemaAt(crd, change.at)?.default
  if (change.op === 'remove' && byDefault !== undefined && deepEqual(byDefault, valueAt(value, change.at)))
    return true
  const after = completed(kind, withMistake(value, mistake), namespace)
  return deepEqual(after, completed(kind, value, namespace))
}

/** At most so many of the mistakes, spread over all: which ones depends on the seed and on nothing else. */
export function sampled(mistakes: readonly Mistake[], most: number, seed: number): readonly Mistake[] {
  if (most === 0 || mistakes.length <= most) return mistakes
  const ranked = mistakes.map((mistake, i) => ({ mistake, i, rank: rankOf(mistake, i, seed) }))
  const chosen = ranked.toSorted((a, b) => a.rank - b.rank || a.i - b.i).slice(0, most)
  return chosen.toSorted((a, b) => a.i - b.i).map(({ mistake }) => mistake)
}

const rankOf = (mistake: Mistake, i: number, seed: number): number =>
  hashOf(`${seed} ${mistake.class} ${mistake.object} ${jsonPointer(mistake.change.at)} ${i}`)
