import { yamlValue } from '../yaml-nodes.ts'
import { ClusterConnection, StatusError, type Times } from '../../../cluster/index.ts'
import { KINDS } from '../../../kinds/index.ts'
import {
  configMapFacts,
  isPolicyKind,
  POLICY_KINDS,
  policyFacts,
  type PolicyKind,
  secretFacts,
} from '../../../relations/index.ts'
import type { Kind } from '../../../kinds/kind.ts'
import {
  compareText,
  DEEPEST,
  errorMessage,
  isNestedOver,
  isObject,
  metadataOf,
  type Resource,
  setOwn,
  withoutDeepFields,
} from '../../../rule/index.ts'
import type { Environment } from '../../../configuration/flags.ts'
import { accessTo, ANSWER_TIMEOUT_MS, type ClusterChoice, serverUrl } from './access.ts'
import { Failures, forEachConcurrently, retryRefused } from './requests.ts'

export interface LiveObject {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  readonly value: Readonly<Record<string, unknown>>
}

/** The name of a Secret, ConfigMap, MCPAuthzConfig or MCPToolConfig to which a resource refers, with its namespace. */
export interface NameInNamespace {
  readonly namespace: string
  readonly name: string
}

/**
 * The facts about a Secret, ConfigMap, MCPAuthzConfig or MCPToolConfig that rules need. They contain no value of a
 * Secret, and only those values of a ConfigMap that may hold policies.
 */
export interface SeenFacts extends NameInNamespace {
  readonly kind: 'Secret' | 'ConfigMap' | PolicyKind
  readonly facts: Resource
}

/** The result of reading a cluster. */
export interface LiveCluster {
  /** URL of the API server; empty when no kubeconfig could be used. */
  readonly server: string
  /** The namespace of the kubeconfig context or of the pod; empty when none is set. */
  readonly namespace: string
  /** The objects, sorted by namespace, kind and name. */
  readonly objects: readonly LiveObject[]
  readonly secrets: readonly SeenFacts[]
  /** The CustomResourceDefinitions of the API group, if they are requested and the user may read them. */
  readonly definitions: readonly unknown[]
  /** The kinds whose CustomResourceDefinition could not be read, each with the HTTP status or another reason. */
  readonly definitionsUnread: readonly { readonly kind: string; readonly reason: string }[]
  /** Kinds that the API server does not serve. */
  readonly absent: readonly Pick<Kind, 'kind' | 'plural'>[]
  /** The kinds, namespaces and Secrets that could not be read, each with the reason. */
  readonly unread: readonly string[]
  /**
   * Namespaces in `--namespaces` that have no object and that the user may not get, so that it is not known whether
   * they exist.
   */
  readonly doubtful: readonly string[]
  /** Whether every object of the kind in the namespace was read. */
  knows(kind: string, namespace: string): boolean
}

/** The cluster to read, and the objects to read there. */
export interface Wanted extends ClusterChoice {
  /** The namespaces to read; undefined for all. `own` is the namespace of the kubeconfig context. */
  namespaces(own: string): readonly string[] | undefined
  /** Whether a namespace that does not exist is reported as unread, because `--namespaces` names it. */
  readonly mustExist?: boolean
  /** Whether the CustomResourceDefinitions are read. */
  readonly definitions?: boolean
  /** The Secrets whose keys are read. */
  secrets?(objects: readonly LiveObject[], own: string): Iterable<NameInNamespace>
  /** The ConfigMaps whose keys and policies are read, if the user may read them. */
  configMaps?(objects: readonly LiveObject[], own: string): Iterable<NameInNamespace>
  /** The namespaces in which resources refer to objects of this kind; all objects of the kind there are listed. */
  policies?(objects: readonly LiveObject[], own: string, kind: PolicyKind): Iterable<string>
}

const NO_DEFINITIONS: Definitions = { definitions: [], definitionsUnread: [] }

/** Reads the objects of a cluster once. Never throws: `unread` lists what could not be read. */
export async function readCluster(
  wanted: Wanted,
  environment: Environment,
  times: Partial<Times> = { answer: ANSWER_TIMEOUT_MS, idle: ANSWER_TIMEOUT_MS },
): Promise<LiveCluster> {
  const access = await accessTo(wanted.kubeconfig, environment).catch(errorMessage)
  if (typeof access === 'string') return nothingRead(access)
  const connection = new ClusterConnection(access, { group: wanted.group, times })
  const own = access.namespace ?? ''
  try {
    const namespaces = wanted.namespaces(own)
    const lists = await readLists(connection, namespaces)
    const existence = wanted.mustExist
      ? await checkExistence(connection, emptyNamespaces(lists, namespaces ?? []))
      : NOT_CHECKED
    const definitions =
      wanted.definitions === true && lists.isReached ? await readDefinitions(connection) : NO_DEFINITIONS
    const secrets = await readFacts(connection, 'Secret', wanted.secrets?.(lists.objects, own))
    const configMaps = await readFacts(connection, 'ConfigMap', wanted.configMaps?.(lists.objects, own))
    const policies = await readPolicies(connection, (kind) => wanted.policies?.(lists.objects, own, kind))
    return {
      ...lists,
      absent: [...lists.absent, ...policies.absent],
      server: serverUrl(connection),
      namespace: own,
      secrets: [...secrets.found, ...configMaps.found, ...policies.found],
      ...definitions,
      unread: [...lists.unread, ...existence.unread, ...secrets.unread],
      doubtful: existence.doubtful,
      knows: (kind, namespace) =>
        kind === 'Secret'
          ? secrets.knows(namespace)
          : kind === 'ConfigMap'
            ? configMaps.knows(namespace)
            : isPolicyKind(kind)
              ? policies.knows(kind, namespace)
              : lists.knows(kind, namespace),
    }
  } finally {
    connection.close()
  }
}

/** The result when the cluster cannot be accessed. */
const nothingRead = (problem: string): LiveCluster => ({
  server: '',
  namespace: '',
  objects: [],
  secrets: [],
  ...NO_DEFINITIONS,
  absent: [],
  unread: [problem],
  doubtful: [],
  knows: () => false,
})

interface Part {
  readonly kind: Kind
  readonly namespace: string | undefined
}

/**
 * Lists all objects of the kinds of the API group. If one kind cannot be listed, the other kinds are still listed,
 * unless the API server did not answer at all.
 */
async function readLists(connection: ClusterConnection, namespaces: readonly string[] | undefined) {
  const places: readonly (string | undefined)[] = namespaces ?? [undefined]
  const parts = KINDS.flatMap((kind) => places.map((namespace): Part => ({ kind, namespace })))
  const objects: LiveObject[] = []
  const absent = new Set<Kind>()
  const known = new Set<string>()
  const failures = new Failures()
  const gaveUp = new AbortController()
  let answered = false
  await forEachConcurrently(parts, async (part) => {
    const { kind, namespace } = part
    try {
      const listed = await retryRefused(() => connection.list(kind, namespace, gaveUp.signal))
      answered = true
      if (listed === undefined) absent.add(kind)
      for (const value of listed ?? []) objects.push(...toLiveObjects(kind, value, failures))
      known.add(keyOf(kind.kind, namespace))
    } catch (error) {
      answered ||= error instanceof StatusError
      if (!answered) gaveUp.abort(error)
      failures.add(describePart(part), errorMessage(error))
    }
  })
  const isReached = !gaveUp.signal.aborted || known.size > 0
  const unread = isReached
    ? failures.texts()
    : [`${serverUrl(connection)}: ${errorMessage(gaveUp.signal.reason)}`]
  return {
    isReached,
    objects: objects.toSorted(compareObjects),
    absent: KINDS.filter((kind) => absent.has(kind)),
    unread,
    knows: (kind: string, namespace: string) =>
      known.has(keyOf(kind, undefined)) || known.has(keyOf(kind, namespace)),
  }
}

const keyOf = (kind: string, namespace: string | undefined) => `${kind}/${namespace ?? ''}`

const describePart = ({ kind: { kind }, namespace }: Part) =>
  namespace === undefined ? kind : `${kind} in namespace '${namespace}'`

function toLiveObjects(kind: Kind, value: unknown, failures: Failures): LiveObject[] {
  const { namespace, name } = metadataOf(value)
  if (!isObject(value) || typeof namespace !== 'string' || typeof name !== 'string') return []
  if (!isNestedOver(value, DEEPEST)) return [{ kind, namespace, name, value }]
  failures.add(
    `${kind.kind} '${name}' in namespace '${namespace}'`,
    `fields that nest over ${DEEPEST} levels deep; judged without them`,
  )
  const kept: Record<string, unknown> = {}
  for (const [field, part] of Object.entries(value)) setOwn(kept, field, withoutDeepFields(part))
  return [{ kind, namespace, name, value: kept }]
}

type Lists = Awaited<ReturnType<typeof readLists>>

/** Namespaces that were read completely and contain no object. */
function emptyNamespaces({ objects, knows }: Lists, namespaces: readonly string[]): string[] {
  const used = new Set(objects.map(({ namespace }) => namespace))
  return namespaces.filter((name) => !used.has(name) && KINDS.every(({ kind }) => knows(kind, name)))
}

interface Existence {
  readonly unread: readonly string[]
  readonly doubtful: readonly string[]
}

const NOT_CHECKED: Existence = { unread: [], doubtful: [] }

/** Reads namespaces without objects, because a list of objects is also empty in a namespace that does not exist. */
async function checkExistence(
  connection: ClusterConnection,
  namespaces: readonly string[],
): Promise<Existence> {
  const unread: string[] = []
  const doubtful: string[] = []
  await forEachConcurrently(namespaces, async (name) => {
    try {
      const found = await retryRefused(() => connection.readNamespace(name, new AbortController().signal))
      if (found === undefined) unread.push(`namespace '${name}' does not exist`)
    } catch (error) {
      if (error instanceof StatusError && error.status === 403) doubtful.push(name)
      else unread.push(`namespace '${name}': ${errorMessage(error)}`)
    }
  })
  return { unread: unread.toSorted(), doubtful: doubtful.toSorted() }
}

type Definitions = Pick<LiveCluster, 'definitions' | 'definitionsUnread'>

/** Reads the CustomResourceDefinitions. Kinds whose definition cannot be read are judged by the specification alone. */
async function readDefinitions(connection: ClusterConnection): Promise<Definitions> {
  const installation = connection.installation('')
  const definitions: unknown[] = []
  const unread = new Map<Kind, string>()
  await forEachConcurrently(KINDS, async (kind) => {
    try {
      const definition = await retryRefused(() => installation.readDefinition(kind.plural))
      if (definition !== undefined) definitions.push(definition)
    } catch (error) {
      unread.set(kind, error instanceof StatusError ? String(error.status) : errorMessage(error))
    }
  })
  const definitionsUnread = KINDS.flatMap((kind) => {
    const reason = unread.get(kind)
    return reason === undefined ? [] : [{ kind: kind.kind, reason }]
  })
  return { definitions, definitionsUnread }
}

/** Reads Secrets or ConfigMaps, but keeps only the facts that rules need. Reports one failure for each namespace. */
async function readFacts(
  connection: ClusterConnection,
  kind: 'Secret' | 'ConfigMap',
  names: Iterable<NameInNamespace> | undefined,
) {
  const factsOf = (object: Readonly<Record<string, unknown>>) =>
    kind === 'Secret' ? secretFacts(object) : configMapFacts(object, undefined, yamlValue)
  const found: SeenFacts[] = []
  const unread = new Map<string, string>()
  const gaveUp = new AbortController()
  const distinct = new Map([...(names ?? [])].map((each) => [`${each.namespace}/${each.name}`, each]))
  await forEachConcurrently([...distinct.values()], async ({ namespace, name }) => {
    if (unread.has(namespace)) return
    try {
      const object = await retryRefused(() =>
        kind === 'Secret'
          ? connection.readSecret(namespace, name, gaveUp.signal)
          : connection.readConfigMap(namespace, name, gaveUp.signal),
      )
      if (isObject(object)) found.push({ kind, namespace, name, facts: factsOf(object) })
    } catch (error) {
      if (!(error instanceof StatusError)) gaveUp.abort(error)
      unread.set(namespace, `${kind} in namespace '${namespace}': ${errorMessage(error)}`)
    }
  })
  return {
    found,
    unread: [...unread.values()],
    knows: (namespace: string) => names !== undefined && !unread.has(namespace),
  }
}

/**
 * Lists the MCPAuthzConfigs and MCPToolConfigs in the namespaces where resources refer to one. After a failure rules
 * treat these objects as unknown, not as missing.
 */
async function readPolicies(
  connection: ClusterConnection,
  namespacesOf: (kind: PolicyKind) => Iterable<string> | undefined,
) {
  const found: SeenFacts[] = []
  const absent = new Set<(typeof POLICY_KINDS)[number]>()
  const known = new Set<string>()
  const parts = POLICY_KINDS.flatMap((policies) =>
    [...new Set(namespacesOf(policies.kind))].map((namespace) => ({ policies, namespace })),
  )
  await forEachConcurrently(parts, async ({ policies, namespace }) => {
    const { kind } = policies
    const listed = await retryRefused(() =>
      connection.list(policies, namespace, new AbortController().signal),
    ).catch(() => 'unread' as const)
    if (listed === 'unread') return
    if (listed === undefined) absent.add(policies)
    known.add(keyOf(kind, namespace))
    for (const object of listed ?? []) {
      const { name } = metadataOf(object)
      if (isObject(object) && typeof name === 'string')
        found.push({ kind, namespace, name, facts: policyFacts(object) })
    }
  })
  return {
    found,
    absent: [...absent],
    knows: (kind: string, namespace: string) => known.has(keyOf(kind, namespace)),
  }
}

const compareObjects = (a: LiveObject, b: LiveObject) =>
  compareText(a.namespace, b.namespace) ||
  compareText(a.kind.kind, b.kind.kind) ||
  compareText(a.name, b.name)
