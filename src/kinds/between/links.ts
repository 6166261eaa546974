import type { ObjectName } from '../../rule/cluster.ts'
import type { Resource } from '../../rule/resource.ts'
import { type Aspect, aspectsOf } from './aspects.ts'
import { REFERENCES, referencesOf } from './references.ts'

/** That a resource refers to another one, and what it says beside, by which it is found. */
export interface Link {
  readonly to: ObjectName
  readonly aspects: readonly (readonly [Aspect, value: string])[]
}

/** Whether resources of the kind refer to others. */
export const refersToOthers = (kind: string): boolean => Object.hasOwn(REFERENCES, kind)

export const linksOf = (kind: string, resource: Resource): Link[] =>
  refersToOthers(kind)
    ? referencesOf(kind, resource).map((reference) => ({
        to: reference.to,
        aspects: aspectsOf(kind, resource, reference),
      }))
    : []
