import { type Environment, isNamespaceName } from '../../configuration/flags.ts'
import {
  configMapReferencesOf,
  policiesOf,
  type PolicyKind,
  secretReferencesOf,
} from '../../relations/index.ts'
import type { ClusterState } from '../../state/index.ts'
import { asApplied, kindOf, nameOf, namespaceOf, type DocumentReading } from '../../documents/index.ts'
import { isObject, objectKey } from '../../rule/index.ts'
import type { Documents } from './texts.ts'
import { stateOfBoth, stateOfCluster, unreadOf } from './given-state.ts'
import { asksCluster, installedRelease } from './release.ts'
import type { LiveCluster, LiveObject, NameInNamespace } from './live/index.ts'
import type { Release } from '../../release/index.ts'
import type { GivenSubject, Unread } from '../output/report.ts'

/** A cluster before and after an apply of files; only the namespaces that documents name are read. */
export interface Overlay {
  readonly live: LiveCluster
  /** The release installed in the cluster, if the flags request it. */
  readonly installed: Release | undefined
  readonly unread: readonly Unread[]
  /** Settings for reading the files; the default namespace is the namespace of the kubeconfig. */
  readonly reading: DocumentReading
  /** The state before an apply of the files; `after` is the state after the apply. */
  readonly before: ClusterState
  readonly after: ClusterState
  /** The live object with this kind, namespace and name. */
  get(subject: GivenSubject): LiveObject['value'] | undefined
}

/** The flags that determine which parts of the cluster are read. */
export interface ClusterFlags {
  readonly kubeconfig: string
  readonly 'check-secrets'?: boolean
  readonly release?: string
  /** The flag --crds; absent for commands that do not depend on a release. */
  readonly crds?: string
}

/**
 * Reads the namespaces of the documents and of the documents `previous` from the cluster. Documents without a namespace
 * get `given.namespace` or, if it is empty, the namespace of the kubeconfig context. Never throws.
 */
export async function readOverlay(
  { documents }: Pick<Documents, 'documents'>,
  given: DocumentReading,
  flags: ClusterFlags,
  environment: Environment,
  previous: readonly unknown[] = [],
): Promise<Overlay> {
  const { group } = given
  const { kubeconfig, release = '', crds } = flags
  const values = documents.map(({ document }) => document.value)
  const readingFor = (own: string): DocumentReading => ({
    ...given,
    namespace: given.namespace || own || 'default',
  })
  const { readCluster } = await import('./live/index.ts')
  const wanted = {
    kubeconfig,
    group,
    definitions: crds !== undefined && asksCluster({ release, crds }),
    namespaces: (own: string) =>
      [...new Set(placesOf([...values, ...previous], readingFor(own)))].filter(isNamespaceName),
    ...(flags['check-secrets'] === true
      ? { secrets: (_: unknown, own: string) => namedIn(values, readingFor(own), secretReferencesOf) }
      : {}),
    configMaps: (_: unknown, own: string) => namedIn(values, readingFor(own), configMapReferencesOf),
    policies: (_: unknown, own: string, kind: PolicyKind) =>
      namedIn(values, readingFor(own), policiesOf(kind)).map(({ namespace }) => namespace),
  }
  const live = await readCluster(wanted, environment)
  const reading = readingFor(live.namespace)
  const objects = new Map(
    live.objects.map((each) => [objectKey({ ...each, kind: each.kind.kind }), each.value]),
  )
  const get = (subject: GivenSubject) => objects.get(objectKey(subject))
  const applied = (value: unknown) => {
    const kind = kindOf(value, reading)?.kind
    if (kind === undefined || !isObject(value)) return value
    const old = get({ kind, namespace: namespaceOf(value, reading), name: nameOf(value) })
    return asApplied(value, old, reading)
  }
  return {
    live,
    installed: installedRelease(live.definitions, group),
    unread: unreadOf(live),
    reading,
    before: stateOfCluster(live, group),
    after: stateOfBoth(live, values.map(applied), reading),
    get,
  }
}

function placesOf(values: readonly unknown[], reading: DocumentReading): string[] {
  return values.flatMap((value) =>
    kindOf(value, reading) === undefined ? [] : [namespaceOf(value, reading)],
  )
}

/** The Secrets, ConfigMaps, MCPAuthzConfigs or MCPToolConfigs to which the documents refer. */
function namedIn(
  values: readonly unknown[],
  reading: DocumentReading,
  referencesOf: (resource: { readonly spec?: unknown }) => readonly { readonly name: string }[],
): NameInNamespace[] {
  return values.flatMap((value) =>
    isObject(value) && kindOf(value, reading) !== undefined
      ? referencesOf(value).map(({ name }) => ({ namespace: namespaceOf(value, reading), name }))
      : [],
  )
}
