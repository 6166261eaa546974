import { compareApiServer } from './api-server.ts'
import { compareCedar } from './cedar.ts'
import { compareCel } from './cel.ts'
import { compareOperator } from './operator.ts'
import { compareStrings } from './strings.ts'
import { compareYaml } from './yaml.ts'
import type { Compare } from './comparison.ts'

/** By the name that `npm run parity` takes. */
export const COMPARISONS: Readonly<Record<string, Compare>> = {
  'api-server': compareApiServer,
  cedar: compareCedar,
  cel: compareCel,
  go: compareStrings,
  operator: compareOperator,
  yaml: compareYaml,
}
