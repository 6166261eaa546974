import { networkInterfaces } from 'node:os'
import type { ApiServer } from './api-server.ts'

/**
 * The flag with which an API server calls the endpoints of a Service itself, so that a webhook is reached by its Service
 * where nothing translates the address of one.
 */
export const ROUTING = '--enable-aggregator-routing=true'

/** The address of this machine that an endpoint may have: no loopback. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal)
  if (found === undefined) throw new Error('this machine has no IPv4 address but that of the loopback')
  return found.address
}

/**
 * Does what the endpoint controller does for a pod of a Service of the chart: its port `webhook` leads to a port of this
 * machine as well, or no longer.
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
