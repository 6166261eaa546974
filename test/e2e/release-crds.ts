import { API_VERSION, DEFAULT_API_GROUP, KINDS } from '../../src/kinds/index.ts'
import type { ReleaseSchema } from '../../src/release/schema.ts'
import type { KnownRelease } from '../support/releases.ts'
import type { ApiServer } from './api-server.ts'
import type { Status } from './rule-examples.ts'
import { waitFor } from './wait-for.ts'

/** The CRDs of a release; their description is its version. */
export const crdsOf = ({ schemas, version }: KnownRelease) =>
  KINDS.map(({ kind, plural }) => crdOf(version, kind, plural, schemas[kind] ?? {}))

/** Installs the CRDs of a release and waits until the API server uses the last one. */
export async function installRelease(api: ApiServer, release: KnownRelease): Promise<void> {
  const { version } = release
  for (const crd of crdsOf(release)) {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const { name } = crd.metadata
    const { status, body } = await api.request<{ metadata: { resourceVersion: string } }>(
      'GET',
      `${path}/${name}`,
    )
    const { resourceVersion } = status === 200 ? body.metadata : {}
    const answer = await (status === 200
      ? api.request<Status>('PUT', `${path}/${name}`, { ...crd, metadata: { name, resourceVersion } })
      : api.request<Status>('POST', path, crd))
    if (answer.status >= 300) throw new Error(`${version} ${name}: ${answer.body.message ?? ''}`)
  }
  await waitFor(async () => (await served(api)) === version, { seconds: 30, what: `${version} to be served` })
}

/** The description in the OpenAPI document of the last kind. */
async function served(api: ApiServer): Promise<string | undefined> {
  const path = `/openapi/v3/apis/${DEFAULT_API_GROUP}/${API_VERSION}`
  const { body } = await api.request<{ components?: { schemas?: Record<string, { description?: string }> } }>(
    'GET',
    path,
  )
  const described = Object.entries(body.components?.schemas ?? {}).filter(([name]) =>
    KINDS.some(({ kind }) => name.endsWith(`.${kind}`)),
  )
  const versions = new Set(described.map(([, { description }]) => description))
  return versions.size === 1 ? [...versions][0] : undefined
}

const crdOf = (version: string, kind: string, plural: string, schema: ReleaseSchema) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${DEFAULT_API_GROUP}` },
  spec: {
    group: DEFAULT_API_GROUP,
    scope: 'Namespaced',
    names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
    versions: [
      {
        name: API_VERSION,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          // The description shows which release's CRDs the API server uses.
          openAPIV3Schema: {
            ...schema,
            description: version,
            properties: { ...schema.properties, metadata: { type: 'object' } },
          },
        },
      },
    ],
  },
})
