import { isObject, type Resource, setOwn } from '../../rule/resource.ts'
import { type AuthConfig, writtenAnnotation, writtenProvider } from './neighbours.ts'

/** What is kept of an object, and of each of its parts; `*` stands for every item and every key. */
interface Mask {
  readonly [field: string]: Mask
}

/** A text, a number or a truth as it is; of anything else that it is there. */
const HERE: Mask = {}
const name: Mask = { name: HERE }
const backend: Mask = { groupRef: name, externalAuthConfigRef: name, oidcConfigRef: HERE }
const workload: Mask = { ...backend, authServerRef: { name: HERE, kind: HERE }, oidcConfigRef: name }

/** What rules and defaults read in the specs of other objects, by kind. */
const KEPT: Readonly<Record<string, Mask>> = {
  MCPExternalAuthConfig: {
    type: HERE,
    tokenExchange: { subjectProviderName: HERE, externalTokenHeaderName: HERE },
    upstreamInject: { providerName: HERE },
    embeddedAuthServer: { upstreamProviders: { '*': HERE } },
  },
  VirtualMCPServer: {
    groupRef: name,
    incomingAuth: { type: HERE, oidcConfigRef: name },
    outgoingAuth: {
      source: HERE,
      backends: { '*': { type: HERE, externalAuthConfigRef: name } },
      default: { externalAuthConfigRef: name },
    },
    authServerConfig: { issuer: HERE, upstreamProviders: { '*': name } },
  },
  MCPOIDCConfig: { type: HERE, inline: { issuer: HERE, jwksAllowPrivateIP: HERE }, jwksAllowPrivateIP: HERE },
  MCPServer: workload,
  MCPRemoteProxy: workload,
  MCPServerEntry: backend,
}

/** The part of an object that a view keeps. */
export type Projection = (kind: string, resource: Resource, group: string) => Resource

/** The part that rules read when they judge another object; of annotations the one that /mutate writes. */
export const projected: Projection = (kind, resource, group) => {
  const mask = KEPT[kind]
  const kept = mask && Object.hasOwn(resource, 'spec') ? { spec: masked(resource.spec, mask) } : {}
  const written =
    kind === 'MCPExternalAuthConfig' ? writtenProvider(resource as AuthConfig, group) : undefined
  if (written === undefined) return kept
  return { ...kept, metadata: { annotations: { [writtenAnnotation(group)]: written } } }
}

/** What is no object has no parts, and is kept: a bare name stands for a whole reference (decision 5). */
function masked(value: unknown, mask: Mask): unknown {
  const each = mask['*']
  if (Array.isArray(value)) return each && value.map((item) => masked(item, each))
  if (!isObject(value)) return value
  const kept: Record<string, unknown> = {}
  for (const field of Object.keys(each === undefined ? mask : value)) {
    const inner = each ?? mask[field]
    if (inner === undefined || !Object.hasOwn(value, field)) continue
    setOwn(kept, field, masked(value[field], inner))
  }
  return kept
}
