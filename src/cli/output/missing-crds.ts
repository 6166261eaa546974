import { API_VERSION, KINDS } from '../../kinds/index.ts'
import type { Kind } from '../../kinds/kind.ts'
import { IN_CLUSTER, type Located } from './report.ts'

/** That the cluster does not have kinds: no error, since nothing of them can be wrong. */
export function absences(absent: readonly Kind[], group: string): Located[] {
  const served = (what: string) => `the cluster does not serve ${what}; is its CRD installed?`
  if (absent.length === KINDS.length) {
    const message = `the cluster does not serve ${group}/${API_VERSION}; are the CRDs installed? (--api-group names another group)`
    return [{ ...IN_CLUSTER, message }]
  }
  return absent.map(({ kind, plural }) => ({
    ...IN_CLUSTER,
    message: served(`${kind} (${plural}.${group}/${API_VERSION})`),
  }))
}

/** That an empty namespace may be a misspelt one. */
export function doubts(namespaces: readonly string[]): Located[] {
  return namespaces.map((name) => ({
    ...IN_CLUSTER,
    message: `namespace '${name}' holds none of these resources, and may not exist: the right to get namespaces is missing`,
  }))
}
