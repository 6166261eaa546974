/** The objects of a live cluster, read once: the only module of the CLI that talks to one. */
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Access,
  ClusterConnection,
  fromKubeconfig,
  fromServiceAccount,
  type Installation,
  type Registrations,
  StatusError,
  type Times,
} from '../../cluster/index.ts'
import { KINDS } from '../../kinds/index.ts'
import { type SecretFacts, secretFacts } from '../../kinds/between/secrets.ts'
import type { Kind } from '../../kinds/kind.ts'
import { isObject, metadataOf } from '../../rule/resource.ts'
import { errorMessage } from '../../rule/error-message.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface LiveObject {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  readonly value: Readonly<Record<string, unknown>>
}

/** A Secret that a resource names. */
export interface SecretName {
  readonly namespace: string
  readonly name: string
}

export interface SeenSecret extends SecretName {
  readonly facts: SecretFacts
}

/** The result of reading a cluster. */
export interface Live {
  /** Its URL; empty when none was found. */
  readonly server: string
  /** The namespace of the context or of the pod; empty where none is set. */
  readonly namespace: string
  /** In the order of namespace, kind and name. */
  readonly objects: readonly LiveObject[]
  readonly secrets: readonly SeenSecret[]
  /** The CustomResourceDefinitions of the kinds, if they were asked for; without those that the user may not read. */
  readonly definitions: readonly unknown[]
  /** Kinds that the API server does not serve. */
  readonly absent: readonly Kind[]
  /** What could not be read, and why. */
  readonly unread: readonly string[]
  /** Namespaces of `--namespaces` that hold no object, and that the user has no right to get. */
  readonly doubtful: readonly string[]
  /** Whether every object of the kind in the namespace was read. */
  knows(kind: string, namespace: string): boolean
}

export interface Wanted {
  /** Empty: that of kubectl, or that of the pod. */
  readonly kubeconfig: string
  readonly group: string
  /** Those to read, given that of the context; undefined: all. */
  namespaces(own: string): readonly string[] | undefined
  /** Whether `--namespaces` names them: one that does not exist is then reported as unread. */
  readonly mustExist?: boolean
  /** Whether the CustomResourceDefinitions are read. */
  readonly definitions?: boolean
  /** The Secrets to look into. */
  secrets?(objects: readonly LiveObject[], own: string): Iterable<SecretName>
}

/** Milliseconds without an answer of the API server. Lists of a cold cache and credential plugins take long. */
const PATIENCE = 30_000
/** Most requests at a time. */
const AT_ONCE = 8
/** Most attempts of a request that is answered with 429 or 5xx. */
const TRIES = 3
const PAUSE = 500
const LONGEST_PAUSE = 5_000

/** Never throws: `unread` lists what could not be read. */
export async function readCluster(
  wanted: Wanted,
  environment: Environment,
  times: Partial<Times> = { answer: PATIENCE, idle: PATIENCE },
): Promise<Live> {
  const access = await accessTo(wanted.kubeconfig, environment).catch(errorMessage)
  if (typeof access === 'string') return nothing(access)
  const connection = new ClusterConnection(access, { group: wanted.group, times })
  const own = access.namespace ?? ''
  try {
    const namespaces = wanted.namespaces(own)
    const lists = await readLists(connection, namespaces)
    const named = wanted.mustExist
      ? await lookFor(connection, emptyOnes(lists, namespaces ?? []))
      : NONE_NAMED
    const definitions = wanted.definitions === true ? await readDefinitions(connection) : []
    const secrets = await readSecrets(connection, wanted.secrets?.(lists.objects, own))
    return {
      ...lists,
      server: nameOf(connection),
      namespace: own,
      secrets: secrets.found,
      definitions,
      unread: [...lists.unread, ...named.unread, ...secrets.unread],
      doubtful: named.doubtful,
      knows: (kind, namespace) =>
        kind === 'Secret' ? secrets.knows(namespace) : lists.knows(kind, namespace),
    }
  } finally {
    connection.close()
  }
}

/** Reads one object; undefined when it is not there. Throws an Error of one line. */
export async function readObject(
  kind: Kind,
  { kubeconfig, group }: Pick<Wanted, 'kubeconfig' | 'group'>,
  { namespace, name }: { readonly namespace: string | undefined; readonly name: string },
  environment: Environment,
): Promise<{ readonly server: string; readonly namespace: string; readonly value: object | undefined }> {
  const access = await accessTo(kubeconfig, environment)
  const connection = new ClusterConnection(access, { group, times: { answer: PATIENCE } })
  const place = namespace ?? access.namespace ?? 'default'
  const server = nameOf(connection)
  try {
    const value = await insisting(() => connection.read(kind, place, name, new AbortController().signal))
    return { server, namespace: place, value }
  } catch (error) {
    throw new Error(`${server}: ${errorMessage(error)}`)
  } finally {
    connection.close()
  }
}

/** The objects of an installation: those of the chart, and those that the server writes. */
export interface Opened {
  /** URL of the API server. */
  readonly server: string
  readonly installation: Installation
  readonly registrations: Registrations
  /** By how many milliseconds the clock of this machine is ahead of the API server's; undefined before an answer. */
  clockOffset(): number | undefined
  close(): void
}

/** Throws an Error of one line when no cluster is found; nothing is sent yet. */
export async function openInstallation(
  { kubeconfig, group }: Pick<Wanted, 'kubeconfig' | 'group'>,
  namespace: string,
  environment: Environment,
): Promise<Opened> {
  const access = await accessTo(kubeconfig, environment)
  const connection = new ClusterConnection(access, { group, times: { answer: PATIENCE, idle: PATIENCE } })
  return {
    server: nameOf(connection),
    installation: connection.installation(namespace),
    registrations: connection.registrations(namespace),
    clockOffset: () => connection.clockOffset(),
    close: () => connection.close(),
  }
}

/** Whether the API server answered with a refusal; any other failure means that it did not answer. */
export const isRefusal = (error: unknown): error is StatusError => error instanceof StatusError

/**
 * Access to the cluster of this kubeconfig, or else to that of kubectl, or of the pod. Throws an Error of one line that
 * says what was looked for, or what is wrong with what was found.
 */
export async function accessTo(kubeconfig: string, environment: Environment): Promise<Access> {
  if (kubeconfig !== '') return fromKubeconfig(kubeconfig)
  const { KUBECONFIG = '', KUBERNETES_SERVICE_HOST, HOME = homedir() } = environment
  const files =
    KUBECONFIG === '' ? [join(HOME, '.kube', 'config')] : KUBECONFIG.split(delimiter).filter(Boolean)
  const found = files.filter((file) => statSync(file, { throwIfNoEntry: false }) !== undefined)
  if (found.length > 0) return fromKubeconfig(...found)
  if (KUBERNETES_SERVICE_HOST !== undefined) return fromServiceAccount()
  const where = KUBECONFIG === '' ? files[0] : `$KUBECONFIG (${KUBECONFIG})`
  throw new Error(
    `there is no kubeconfig: not at ${where}, and this is not a pod with a service account; name one with --kubeconfig FILE`,
  )
}

const nameOf = ({ server }: ClusterConnection) => server.replace(/\/$/, '')

const nothing = (problem: string): Live => ({
  server: '',
  namespace: '',
  objects: [],
  secrets: [],
  definitions: [],
  absent: [],
  unread: [problem],
  doubtful: [],
  knows: () => false,
})

/** Repeats a request that is answered with 429 or 5xx, after the pause that the API server asks for. */
async function insisting<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      const passes = error instanceof StatusError && (error.status === 429 || error.status >= 500)
      if (!passes || tries === TRIES) throw error
      await sleep(Math.min(error.retryAfter || PAUSE, LONGEST_PAUSE))
    }
  }
}

interface Part {
  readonly kind: Kind
  readonly namespace: string | undefined
}

/** Reads everything of the seven kinds. A failure of one leaves the others, unless there was no answer at all. */
async function readLists(connection: ClusterConnection, namespaces: readonly string[] | undefined) {
  const places: readonly (string | undefined)[] = namespaces ?? [undefined]
  const parts = KINDS.flatMap((kind) => places.map((namespace): Part => ({ kind, namespace })))
  const objects: LiveObject[] = []
  const absent = new Set<Kind>()
  const known = new Set<string>()
  const failures = new Failures()
  const gaveUp = new AbortController()
  let answered = false
  await eachOf(parts, async (part) => {
    const { kind, namespace } = part
    try {
      const listed = await insisting(() => connection.list(kind, namespace, gaveUp.signal))
      answered = true
      if (listed === undefined) absent.add(kind)
      for (const value of listed ?? []) objects.push(...objectOf(kind, value))
      known.add(keyOf(kind.kind, namespace))
    } catch (error) {
      answered ||= error instanceof StatusError
      if (!answered) gaveUp.abort(error)
      failures.add(partText(part), errorMessage(error))
    }
  })
  const unread =
    gaveUp.signal.aborted && known.size === 0
      ? [`${nameOf(connection)}: ${errorMessage(gaveUp.signal.reason)}`]
      : failures.texts()
  return {
    objects: objects.toSorted(compareObjects),
    absent: KINDS.filter((kind) => absent.has(kind)),
    unread,
    knows: (kind: string, namespace: string) =>
      known.has(keyOf(kind, undefined)) || known.has(keyOf(kind, namespace)),
  }
}

const keyOf = (kind: string, namespace: string | undefined) => `${kind}/${namespace ?? ''}`

const partText = ({ kind: { kind }, namespace }: Part) =>
  namespace === undefined ? kind : `${kind} in namespace '${namespace}'`

function objectOf(kind: Kind, value: unknown): LiveObject[] {
  const { namespace, name } = metadataOf(value)
  if (!isObject(value) || typeof namespace !== 'string' || typeof name !== 'string') return []
  return [{ kind, namespace, name, value }]
}

type Lists = Awaited<ReturnType<typeof readLists>>

/** Namespaces that were read completely and hold no object. */
function emptyOnes({ objects, knows }: Lists, namespaces: readonly string[]): string[] {
  const used = new Set(objects.map(({ namespace }) => namespace))
  return namespaces.filter((name) => !used.has(name) && KINDS.every(({ kind }) => knows(kind, name)))
}

interface Named {
  readonly unread: readonly string[]
  readonly doubtful: readonly string[]
}

const NONE_NAMED: Named = { unread: [], doubtful: [] }

/** The API server answers an empty list for a namespace that does not exist. */
async function lookFor(connection: ClusterConnection, namespaces: readonly string[]): Promise<Named> {
  const unread: string[] = []
  const doubtful: string[] = []
  await eachOf(namespaces, async (name) => {
    try {
      const found = await insisting(() => connection.readNamespace(name, new AbortController().signal))
      if (found === undefined) unread.push(`namespace '${name}' does not exist`)
    } catch (error) {
      if (error instanceof StatusError && error.status === 403) doubtful.push(name)
      else unread.push(`namespace '${name}': ${errorMessage(error)}`)
    }
  })
  return { unread: unread.toSorted(), doubtful: doubtful.toSorted() }
}

/** A user who may not read a definition gets the verdicts of the specification. */
async function readDefinitions(connection: ClusterConnection): Promise<unknown[]> {
  const installation = connection.installation('')
  const found: unknown[] = []
  await eachOf(KINDS, async ({ plural }) => {
    const definition = await installation.readDefinition(plural).catch(() => undefined)
    if (definition !== undefined) found.push(definition)
  })
  return found
}

/** Keeps no values. A failure in a namespace leaves its Secrets unknown, and is reported once. */
async function readSecrets(connection: ClusterConnection, names: Iterable<SecretName> | undefined) {
  const found: SeenSecret[] = []
  const unread = new Map<string, string>()
  const gaveUp = new AbortController()
  const distinct = new Map([...(names ?? [])].map((each) => [`${each.namespace}/${each.name}`, each]))
  await eachOf([...distinct.values()], async ({ namespace, name }) => {
    if (unread.has(namespace)) return
    try {
      const secret = await insisting(() => connection.readSecret(namespace, name, gaveUp.signal))
      if (isObject(secret)) found.push({ namespace, name, facts: secretFacts(secret) })
    } catch (error) {
      if (!(error instanceof StatusError)) gaveUp.abort(error)
      unread.set(namespace, `Secret in namespace '${namespace}': ${errorMessage(error)}`)
    }
  })
  return {
    found,
    unread: [...unread.values()],
    knows: (namespace: string) => names !== undefined && !unread.has(namespace),
  }
}

/** Failures by reason: each reason is reported once. */
class Failures {
  readonly #parts = new Map<string, string[]>()

  add(part: string, reason: string): void {
    this.#parts.set(reason, [...(this.#parts.get(reason) ?? []), part])
  }

  texts(): string[] {
    return Array.from(
      this.#parts,
      ([reason, parts]) => `${parts.toSorted().join(', ')}: ${reason}`,
    ).toSorted()
  }
}

async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await act(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

const compareObjects = (a: LiveObject, b: LiveObject) =>
  compare(a.namespace, b.namespace) || compare(a.kind.kind, b.kind.kind) || compare(a.name, b.name)

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
