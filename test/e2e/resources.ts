import { API_VERSION, DEFAULT_API_GROUP, kindNamed } from '../../src/kinds/index.ts'
import type { RunningServer } from '../support/server.ts'
import type { Answer, ApiServer } from './api-server.ts'
import { inBatches, type Status } from './rule-examples.ts'
import { waitFor } from './wait-for.ts'

/** A namespaced resource, as it is sent and as it is stored. */
export interface Resource {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
    readonly resourceVersion?: string
    readonly generation?: number
  }
  readonly spec?: unknown
}

/** The answer to a write: the stored resource, or a refusal. */
export type Outcome = Answer<Resource & Status>

/** The field manager whose writes bypass webhooks that are registered with EXCEPT_STORED. */
const UNJUDGED = 'unjudged'

/** The match condition of a webhook that lets writes of `store` bypass it. */
export const EXCEPT_STORED = {
  name: 'except-stored',
  expression: `!has(request.options.fieldManager) || request.options.fieldManager != '${UNJUDGED}'`,
}

type Unplaced = Pick<Resource, 'kind' | 'spec'> & { readonly metadata: { readonly name: string } }

/** The object of an example as a resource in a namespace. */
export function resourceIn(namespace: string, { kind, metadata, ...rest }: Unplaced): Resource {
  const apiVersion = kind === 'Secret' || kind === 'ConfigMap' ? 'v1' : `${DEFAULT_API_GROUP}/${API_VERSION}`
  return { apiVersion, kind, metadata: { ...metadata, namespace }, ...rest }
}

export const textOf = ({ kind, metadata }: Resource): string => `${kind}/${metadata.name}`

function collectionOf({ kind, metadata }: Resource): string {
  const plural = kindNamed.get(kind)?.plural
  return plural === undefined
    ? `/api/v1/namespaces/${metadata.namespace}/${kind === 'Secret' ? 'secrets' : 'configmaps'}`
    : `/apis/${DEFAULT_API_GROUP}/${API_VERSION}/namespaces/${metadata.namespace}/${plural}`
}

export const pathTo = (resource: Resource) => `${collectionOf(resource)}/${resource.metadata.name}`

export function create(api: ApiServer, resource: Resource, query = ''): Promise<Outcome> {
  return api.request('POST', collectionOf(resource) + query, resource)
}

/** Creates or replaces a resource without calling the webhooks. */
export async function store(api: ApiServer, resource: Resource): Promise<void> {
  const query = `?fieldManager=${UNJUDGED}`
  const isThere = (await stored(api, resource)) !== undefined
  const { status, body } = await (isThere ? update : create)(api, resource, query)
  if (status >= 300) throw new Error(`${textOf(resource)} was answered with ${status}: ${body.message ?? ''}`)
}

export const storeAll = (api: ApiServer, resources: readonly Resource[]) =>
  inBatches(resources, (resource) => store(api, resource))

/** Replaces the stored resource, as `kubectl replace` does. */
export async function update(api: ApiServer, resource: Resource, query = ''): Promise<Outcome> {
  const { resourceVersion = '' } = (await stored(api, resource))?.metadata ?? {}
  const metadata = { ...resource.metadata, resourceVersion }
  return api.request('PUT', pathTo(resource) + query, { ...resource, metadata })
}

/** Applies the resource server-side by one field manager, which takes over the fields of others. */
export function apply(api: ApiServer, resource: Resource, { dryRun = false } = {}): Promise<Outcome> {
  const query = `?fieldManager=delivery&force=true${dryRun ? '&dryRun=All' : ''}`
  return api.request('PATCH', pathTo(resource) + query, resource, 'application/apply-patch+yaml')
}

export const merge = (api: ApiServer, resource: Resource, patch: object): Promise<Outcome> =>
  api.request('PATCH', pathTo(resource), patch, 'application/merge-patch+json')

export const remove = (api: ApiServer, resource: Resource): Promise<Outcome> =>
  api.request('DELETE', pathTo(resource))

/** The stored resource with the same name; undefined when there is none. */
export async function stored(api: ApiServer, resource: Resource): Promise<Resource | undefined> {
  const { status, body } = await api.request<Resource>('GET', pathTo(resource))
  return status === 200 ? body : undefined
}

export async function createNamespaces(api: ApiServer, names: readonly string[]): Promise<void> {
  await inBatches(names, async (name) => {
    const { status } = await api.request('POST', '/api/v1/namespaces', { metadata: { name } })
    if (status !== 201 && status !== 409) throw new Error(`namespace ${name} was answered with ${status}`)
  })
}

/** The causes of a refusal as kubectl prints them; empty when the write is admitted. */
export const causes = ({ body }: Outcome): string[] =>
  (body.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`)

/** The values of a metric by the text of their labels. */
export async function metric(server: RunningServer, name: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${server.probeUrl}/metrics`)).text()
  const samples = text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))
  return new Map(Array.from(samples, ([, labels = '', value]) => [labels, Number(value)]))
}

/** The current findings in a namespace: `KIND/NAME ID SEVERITY`. */
export async function currentFindingsIn(server: RunningServer, namespace: string): Promise<string[]> {
  const labels = /^kind="(.*)",namespace="(.*)",name="(.*)",id="(.*)",severity="(.*)"$/
  const samples = await metric(server, 'vmcp_admission_current_findings')
  return [...samples.keys()].flatMap((text) => {
    const [, kind = '', where, name = '', id = '', severity = ''] = labels.exec(text) ?? []
    return where === namespace ? [`${kind}/${name} ${id} ${severity}`] : []
  })
}

let marks = 0

/** Waits until the server's informers have received everything that was stored before in the namespace. */
export async function settled(api: ApiServer, server: RunningServer, namespace = 'default'): Promise<void> {
  const name = `mark-${(marks += 1)}`
  const resources = [...kindNamed.keys()].map((kind) =>
    resourceIn(namespace, { kind, metadata: { name }, spec: { mark: '${MARK}' } }),
  )
  await storeAll(api, resources)
  const isHeard = async () => {
    const found = await currentFindingsIn(server, namespace)
    return resources.every((resource) => found.some((text) => text.startsWith(`${textOf(resource)} `)))
  }
  await waitFor(isHeard, { seconds: 20, what: 'the server to hear of what is stored' })
  await waitFor(
    async () => (await metric(server, 'vmcp_admission_current_findings_pending_namespaces')).get('') === 0,
    {
      seconds: 20,
      what: 'the server to judge what is stored',
    },
  )
  await inBatches(resources, (resource) => remove(api, resource))
}
