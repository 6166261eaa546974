import { networkInterfaces } from 'node:os'
import type { ApiServer } from './api-server.ts'

/**
 * The flag with which the API server calls the endpoints of a Service directly, because nothing here routes Service
 * addresses.
 */
export const ROUTING = '--enable-aggregator-routing=true'

/** An IPv4 address of this machine that is allowed in endpoints, so not of the loopback interface. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal)
  if (found === undefined) throw new Error('this machine has no IPv4 address but that of the loopback')
  return found.address
}

/**
 * Acts as the endpoint controller for a Service of the chart: adds a port of this machine to its endpoints, or removes
 * it.
 */
export async function lead(
  api: ApiServer,
  service: string,
  namespace: string,
  port: number,
  ready = true,
): Promise<void> {
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${service}-${port}`,
      namespace,
      labels: { 'kubernetes.io/service-name': service },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [ownAddress()], conditions: { ready } }],
    ports: [{ name: 'webhook', port, protocol: 'TCP' }],
  }
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/${slice.metadata.name}`
  const applied = await api.request(
    'PATCH',
    `${path}?fieldManager=endpoints&force=true`,
    slice,
    'application/apply-patch+yaml',
  )
  if (applied.status >= 300) throw new Error(`the EndpointSlice: ${JSON.stringify(applied.body)}`)
}
