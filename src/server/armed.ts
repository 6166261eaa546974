import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { Arming, bundlesOf } from '../arming/index.ts'
import type { ClusterConnection } from '../cluster/index.ts'
import { UsageError } from '../configuration/flags.ts'
import { type ClientConfig, probeAnnotation, WEBHOOK_NAME } from '../kinds/registration.ts'
import type { ServerConfiguration } from './configuration.ts'
import type { Serving } from './serving.ts'

/** Looks after the webhook configurations, if that is wanted. Throws UsageError without a cluster. */
export function openArming(
  configuration: ServerConfiguration,
  connection: ClusterConnection | undefined,
  serving: Serving,
  logger: Logger,
): Arming | undefined {
  const { arming: setting, 'api-group': group, namespace } = configuration
  if (setting === 'off') return undefined
  if (connection === undefined)
    throw new UsageError(`--arming ${setting} writes to a cluster: give --kubeconfig FILE`)
  const registrations = connection.registrations(namespace)
  return new Arming(
    {
      lease: registrations.lease(WEBHOOK_NAME),
      readConfiguration: (kind, name) => registrations.readConfiguration(kind, name),
      watchConfiguration: (kind, name, changed) => registrations.watchConfiguration(kind, name, changed),
      applyConfiguration: (wanted, displacing) => registrations.applyConfiguration(wanted, displacing),
      readOwner: (name) => registrations.readOwner(name),
      tryProbe: (nonce) => registrations.tryProbe(probeAnnotation(group), nonce),
    },
    {
      setting,
      group,
      identity: `${hostname()}-${randomUUID()}`,
      owner: configuration['owner-cluster-role'],
      clientConfig: (path) => clientConfigOf(configuration, serving.bundle(), path),
      onLook: (configurations) => serving.carried(configurations.flatMap(bundlesOf)),
      logger,
    },
  )
}

function clientConfigOf(
  { service, namespace, 'webhook-url': url }: ServerConfiguration,
  bundle: string | undefined,
  path: '/validate' | '/mutate',
): ClientConfig {
  const where = url === '' ? { service: { namespace, name: service, port: 443, path } } : { url: url + path }
  return bundle === undefined ? where : { ...where, caBundle: Buffer.from(bundle).toString('base64') }
}
