/** The objects of a large cluster: 10,000 in 100 namespaces, and 2,000 more in one. */

import {
  authServer,
  backend,
  gateway,
  headerConfig,
  injectConfig,
  inline,
  oidcConfig,
} from '../src/relations/examples.ts'
import { API_VERSION, DEFAULT_API_GROUP } from '../src/kinds/index.ts'
import type { Other } from '../src/rule/rule.ts'

export const NAMESPACES = 100
/** In one namespace, beside the others: workloads that share one group and one configuration. */
const CROWD = 2_000
/** In each namespace: groups of 15 backends, each with a VirtualMCPServer of its own, which half of them discover. */
const GROUPS = 5
const BACKENDS = 15

const metadata = (name: string, namespace: string, version: number) => ({
  name,
  namespace,
  uid: `0f1d4c1e-7d0f-4a0e-9c55-${String(version).padStart(12, '0')}`,
  resourceVersion: String(version),
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
  labels: { 'app.kubernetes.io/name': name, 'app.kubernetes.io/managed-by': 'argocd' },
  annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'x'.repeat(600) },
  managedFields: [
    { manager: 'kubectl', fieldsV1: { 'f:spec': { 'f:type': {}, 'f:groupRef': { 'f:name': {} } } } },
  ],
})

export function* objects(namespace: string): Iterable<Other> {
  for (let i = 0; i < GROUPS; i++) {
    const group = `team-${i}`
    yield { kind: 'MCPGroup', metadata: { name: group }, spec: { description: 'a team' } }
    yield oidcConfig(`${group}-tokens`)
    const listed = Object.fromEntries(
      Array.from({ length: BACKENDS }, (_, j) => [`${group}-${j}`, `${group}-key`]),
    )
    yield gateway(`${group}-gateway`, {
      groupRef: { name: group },
      incomingAuth: { type: 'oidc', oidcConfigRef: { name: `${group}-tokens` }, audience: namespace },
      authServerConfig: authServer('okta', 'github'),
      ...(i % 2 === 0 && { outgoingAuth: inline(listed) }),
    })
    yield headerConfig(`${group}-key`)
    yield injectConfig(`${group}-inject`, 'okta')
    for (let j = 0; j < BACKENDS; j++) {
      const config = j % 3 === 0 ? `${group}-inject` : `${group}-key`
      const { spec, ...rest } = backend(`${group}-${j}`, config, j % 5 === 0 ? 'MCPRemoteProxy' : 'MCPServer')
      yield {
        ...rest,
        spec: { ...(spec as object), groupRef: { name: group }, image: 'ghcr.io/example/server:1.2.3' },
      }
    }
  }
}

export function* crowd(): Iterable<Other> {
  yield { kind: 'MCPGroup', metadata: { name: 'tools' }, spec: {} }
  yield headerConfig('crowd-key')
  yield oidcConfig('corporate')
  yield gateway('crowd-gateway', { authServerConfig: authServer('okta', 'github') })
  for (let i = 0; i < CROWD; i++) yield backend(`crowd-${i}`, 'crowd-key')
}

/** As it comes from the API server: parsed from its own text, sharing nothing with other objects. */
export function parsed(other: Other, namespace: string, version: number): object {
  const object = { apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`, ...other }
  return JSON.parse(
    JSON.stringify({ ...object, metadata: metadata(other.metadata.name, namespace, version) }),
  ) as object
}
