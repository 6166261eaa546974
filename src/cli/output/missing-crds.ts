import { API_VERSION, KINDS } from '../../kinds/index.ts'
import type { Kind } from '../../kinds/kind.ts'
import type { LiveCluster } from '../input/live/index.ts'
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

/** A note that the installed release is not known, because the user may not read the CRDs that tell it. */
export function unknownReleaseNotes(
  { definitionsRefused }: Pick<LiveCluster, 'definitionsRefused'>,
  release: unknown,
): Located[] {
  if (definitionsRefused === undefined || release !== undefined) return []
  const message = `the CRDs could not be read (${definitionsRefused}), so the installed release is not known: grant deploy/rbac/release.yaml, or write --release`
  return [{ ...IN_CLUSTER, message }]
}

/** A note that a namespace without objects may be misspelt. */
export function emptyNamespaceNotes(namespaces: readonly string[]): Located[] {
  return namespaces.map((name) => ({
    ...IN_CLUSTER,
    message: `namespace '${name}' holds none of these resources, and may not exist: the right to get namespaces is missing`,
  }))
}
