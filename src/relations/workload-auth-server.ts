import type { Cluster, ObjectName, Segment } from '../rule/index.ts'
import type { Server } from '../kinds/embedded-auth-server/effective.ts'
import { type AuthConfig, getAuthConfig, type Workload } from './related-resources.ts'
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
