import { type Cluster, type ObjectName, oncePerCluster, type Segment } from '../rule/index.ts'
import type { Server } from '../kinds/embedded-auth-server/effective.ts'
import {
  type AuthConfig,
  getAuthConfig,
  getWorkload,
  SINGLE_PROVIDER_KINDS,
  type Workload,
} from './related-resources.ts'
import { referencesOf } from './references.ts'

/** An MCPExternalAuthConfig that a workload names, and the field that names it. */
interface Named {
  readonly to: ObjectName
  readonly field: string
  readonly at: () => readonly Segment[]
  readonly config: AuthConfig
}

/**
 * The MCPExternalAuthConfigs that a workload names and that `cluster` contains, in the order of the workload's fields.
 */
export function configsOf(kind: string, workload: Workload, cluster: Cluster): Named[] {
  return referencesOf(kind, workload, 'MCPExternalAuthConfig').flatMap((reference) => {
    const config = getAuthConfig(cluster, reference.to.name)
    return config === undefined ? [] : [{ ...reference, config }]
  })
}

/** An embedded authorization server of a workload. */
export interface NamedServer extends Named {
  readonly server: Server
}

/** The embedded authorization servers of a workload; releases refuse a second one. */
export const authServersOf = (kind: string, workload: Workload, cluster: Cluster): NamedServer[] =>
  configsOf(kind, workload, cluster).flatMap((named) => {
    const { type, embeddedAuthServer: server } = named.config.spec ?? {}
    return type !== 'embeddedAuthServer' || server === undefined ? [] : [{ ...named, server }]
  })

/** A workload, `holder`, and an embedded authorization server that it names. */
export interface HeldServer extends NamedServer {
  readonly holder: ObjectName
  readonly workload: Workload
}

/**
 * The authorization servers of the judged workload; for another judged object, those of the workloads that refer to it,
 * and for an MCPExternalAuthConfig the one in itself alone.
 */
export function heldServersOf(resource: object, self: ObjectName, cluster: Cluster): readonly HeldServer[] {
  if (SINGLE_PROVIDER_KINDS.includes(self.kind)) return heldBy(self, resource, cluster)
  const { spec }: AuthConfig = resource
  if (self.kind === 'MCPExternalAuthConfig' && spec?.type !== 'embeddedAuthServer') return []
  return heldBeside(self, cluster)
}

const heldBy = (holder: ObjectName, workload: Workload, cluster: Cluster): HeldServer[] =>
  authServersOf(holder.kind, workload, cluster).map((named) => ({ ...named, holder, workload }))

const heldBeside = oncePerCluster((self: ObjectName, cluster): readonly HeldServer[] =>
  cluster
    .referrers(self.kind, self.name, SINGLE_PROVIDER_KINDS)
    .flatMap((holder) => {
      const held = heldBy(holder, getWorkload(cluster, holder) ?? {}, cluster)
      return [...new Map(held.map((each) => [each.to.name, each])).values()]
    })
    .filter(({ to }) => to.kind !== self.kind || to.name === self.name),
)
