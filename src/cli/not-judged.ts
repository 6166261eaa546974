import { API_VERSION, kindNamed } from '../kinds/index.ts'
import type { Finding } from '../review/finding.ts'
import { holdsPlaceholder } from '../review/placeholder.ts'
import { nearest } from '../rule/nearest.ts'
import { isObject } from '../rule/resource.ts'
import type { Reading } from './given-world.ts'

/** What is said of a document that is not judged. */
export interface NotJudged {
  readonly field: string
  readonly detail: string
  /** Set when the document is meant to be one of ours beyond doubt: nothing of it is checked, so more than a note is due. */
  readonly finding?: Finding
}

/** Other products have a kind of this name. */
const OF_OTHERS_TOO = 'MCPServer'
const OF_THE_PRODUCT = /toolhive|stackloc?k/i

/** Why a document that looks like one of ours is not: its kind or its group is another one. */
export function notJudged(value: unknown, { group, strict }: Reading): NotJudged | undefined {
  if (!isObject(value) || typeof value.kind !== 'string') return undefined
  const { kind, apiVersion } = value
  const given = typeof apiVersion === 'string' ? apiVersion : undefined
  if (given?.startsWith(`${group}/`)) {
    if (kindNamed.has(kind)) return undefined
    const near = nearest(kind, kindNamed.keys())
    const advice = near === undefined ? '' : `; did you mean '${near}'`
    return { field: 'kind', detail: `there are no rules for the kind '${kind}'${advice}` }
  }
  if (!kindNamed.has(kind)) return undefined
  const isNear = given !== undefined && isNearGroup(given.split('/', 1)[0] ?? '', group)
  const detail = wrongGroup(given, `${group}/${API_VERSION}`, isNear)
  const isOpen = !strict && holdsPlaceholder(given ?? '')
  if (isOpen || (!isNear && kind === OF_OTHERS_TOO)) return { field: 'apiVersion', detail }
  const error = { type: 'advice', at: ['apiVersion'], detail: `not checked: ${detail}` } as const
  const severity = strict ? 'error' : 'warning'
  return { field: 'apiVersion', detail, finding: { id: 'api-group-known', severity, error } }
}

const isNearGroup = (given: string, group: string): boolean =>
  OF_THE_PRODUCT.test(given) || nearest(given, [group]) !== undefined

function wrongGroup(given: string | undefined, ours: string, isNear: boolean): string {
  if (given === undefined) return `there is no apiVersion; write '${ours}'`
  return isNear
    ? `the apiVersion is '${given}'; did you mean '${ours}'`
    : `the apiVersion is '${given}', and not '${ours}' (--api-group names another group)`
}
