import { type AuthConfig, writtenAnnotation, writtenProvider } from './neighbours.ts'
import { isObject, type Resource } from '../../rule/resource.ts'

/** What is kept of an object: a field, or what is kept of each part. `*` stands for every item and every key. */
interface Mask {
  readonly [field: string]: true | Mask
}

const ref: Mask = { name: true }
const authServer: Mask = { issuer: true, upstreamProviders: { '*': { name: true } } }
const workload: Mask = {
  spec: {
    groupRef: true,
    externalAuthConfigRef: ref,
    authServerRef: { name: true, kind: true },
    oidcConfigRef: ref,
  },
}

/** What rules read of other objects, by kind: the view of a cluster holds no more than this. */
const KEPT: Readonly<Record<string, Mask>> = {
  MCPExternalAuthConfig: {
    metadata: { annotations: true },
    spec: {
      type: true,
      tokenExchange: { subjectProviderName: true, externalTokenHeaderName: true },
      upstreamInject: { providerName: true },
      headerInjection: { headerName: true },
      embeddedAuthServer: authServer,
    },
  },
  VirtualMCPServer: {
    spec: {
      groupRef: ref,
      config: { groupRef: true },
      incomingAuth: {
        type: true,
        audience: true,
        oidcConfigRef: { name: true, audience: true, resourceUrl: true },
      },
      outgoingAuth: {
        source: true,
        backends: { '*': { type: true, externalAuthConfigRef: ref } },
        default: { externalAuthConfigRef: ref },
      },
      authServerConfig: authServer,
    },
  },
  MCPOIDCConfig: {
    spec: { type: true, inline: { issuer: true, jwksAllowPrivateIP: true }, jwksAllowPrivateIP: true },
  },
  MCPServer: workload,
  MCPRemoteProxy: workload,
  MCPServerEntry: workload,
  MCPGroup: {},
}

/** The part of a resource that rules read when they judge another one; of annotations the one that /mutate writes. */
export function projected(kind: string, resource: Resource, group: string): Resource {
  const kept = masked(resource, KEPT[kind] ?? {}) as Resource
  const spec = 'spec' in kept ? { spec: kept.spec } : {}
  const written = kept.metadata === undefined ? undefined : writtenProvider(kept as AuthConfig, group)
  if (written === undefined) return spec
  return { ...spec, metadata: { annotations: { [writtenAnnotation(group)]: written } } }
}

function masked(value: unknown, mask: true | Mask): unknown {
  if (mask === true) return value
  if (Array.isArray(value)) {
    const items = mask['*']
    return items === undefined ? undefined : value.map((item) => masked(item, items))
  }
  if (!isObject(value)) return undefined
  const kept: Record<string, unknown> = {}
  for (const field of '*' in mask ? Object.keys(value) : Object.keys(mask)) {
    const inner = mask[field] ?? mask['*']
    if (inner === undefined || !Object.hasOwn(value, field)) continue
    // Own data, whatever the key is called.
    Object.defineProperty(kept, field, {
      value: masked(value[field], inner),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return kept
}
