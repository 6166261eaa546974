import { changedAt, type Edit, type Moving, type Segment } from '../../src/rule/index.ts'
import { edited } from '../../src/shape/index.ts'
import type { Class, Undecidable } from './classes.ts'

type Change = Exclude<Edit, Moving> | { readonly op: 'remove'; readonly at: readonly Segment[] }

/** One change of one field of one object, as somebody could have made it by mistake. */
export interface Mistake {
  readonly class: Class
  /** The place of the object among the given ones. */
  readonly object: number
  readonly change: Change
  /** Absent where the manifests, or the objects of a cluster, show that it is one. */
  readonly undecidable?: Undecidable | undefined
}

/** The object with the mistake in it; shares what has not changed. */
export const withMistake = (object: object, { change }: Mistake): object =>
  change.op === 'remove'
    ? changedAt(object, [change], (holder, key) => Reflect.deleteProperty(holder, key))
    : edited(object, change)
