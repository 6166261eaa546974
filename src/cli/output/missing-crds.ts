import { API_VERSION, KINDS } from '../../kinds/index.ts'
import type { Kind } from '../../kinds/kind.ts'
import type { LiveCluster } from '../input/live/index.ts'
import type { Release } from '../../release/index.ts'
import { IN_CLUSTER, type Located } from './report.ts'

/** A note that the cluster does not serve some kinds. Not an error, because there can be no objects of them. */
export function missingKindNotes(absent: readonly Pick<Kind, 'kind' | 'plural'>[], group: string): Located[] {
  const served = (what: string) => `the cluster does not serve ${what}; is its CRD installed?`
  if (absent.length >= KINDS.length) {
    const message = `the cluster does not serve ${group}/${API_VERSION}; are the CRDs installed? (--api-group names another group)`
    return [{ ...IN_CLUSTER, message }]
  }
  return absent.map(({ kind, plural }) => ({
    ...IN_CLUSTER,
    message: served(`${kind} (${plural}.${group}/${API_VERSION})`),
  }))
}

/** A note that CRDs could not be read, so that the installed release is not known, or not for all kinds. */
export function unreadDefinitionNotes(
  { definitionsUnread: unread }: Pick<LiveCluster, 'definitionsUnread'>,
  release: Release | undefined,
): Located[] {
  const lacking = unread.filter(({ kind }) => release?.schemas.has(kind) !== true)
  if (lacking.length === 0) return []
  const reasons = [...new Set(lacking.map(({ reason }) => reason))]
  const remedy = reasons.includes('403') ? 'grant deploy/rbac/check.yaml' : 'run it again'
  const kinds = lacking.length === KINDS.length ? '' : ` of ${lacking.map(({ kind }) => kind).join(', ')}`
  const thus =
    release === undefined
      ? 'the installed release is not known'
      : 'the specification alone judges these kinds'
  const message = `the CRDs${kinds} could not be read (${reasons.join('; ')}), so ${thus}: ${remedy}, or write --release`
  return [{ ...IN_CLUSTER, message }]
}

/** A note that a namespace without objects may be misspelt. */
export function emptyNamespaceNotes(namespaces: readonly string[]): Located[] {
  return namespaces.map((name) => ({
    ...IN_CLUSTER,
    message: `namespace '${name}' holds none of these resources, and may not exist: the right to get namespaces is missing`,
  }))
}
