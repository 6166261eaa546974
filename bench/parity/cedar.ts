import { compareEntities } from './cedar-entities.ts'
import { compareOutcomes } from './cedar-outcomes.ts'
import { comparePolicies } from './cedar-policies.ts'
import type { Compare } from './comparison.ts'

export const compareCedar: Compare = async (count, seed) => [
  ...(await comparePolicies(count, seed)),
  ...(await compareEntities(count, seed)),
  ...(await compareOutcomes(count, seed)),
]
