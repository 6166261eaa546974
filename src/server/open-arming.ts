import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { Arming, bundlesOf } from '../arming/index.ts'
import type { ClusterConnection } from '../cluster/index.ts'
import { UsageError } from '../configuration/flags.ts'
import { type ClientConfig, LEADER_NAME, probeAnnotation, WEBHOOK_NAME } from '../registration/index.ts'
import type { ServerConfiguration } from './configuration.ts'
import type { Serving } from './serving.ts'

/**
 * Creates the writer of the webhook configurations (`Arming`) that `--arming` selects; undefined with `off`. The writer
 * puts the caBundle of `serving` into the configurations, and passes the stored caBundles back to `serving` (steps 2
 * and 3 of TrustLoop). Throws UsageError without a cluster.
 */
export function openArming(
  configuration: ServerConfiguration,
  connection: ClusterConnection | undefined,
  serving: Serving | undefined,
  logger: Logger,
): Arming | undefined {
  const { arming: setting, 'api-group': group, namespace } = configuration
  if (setting === 'off') {
    if (configuration.role === 'leader')
      throw new UsageError('--role leader writes the webhook configurations: give --arming on or ignore')
    return undefined
  }
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
      tryProbe: (nonce, labels) => registrations.tryProbe(probeAnnotation(group), nonce, labels),
    },
    {
      setting,
      writes: configuration.role !== 'webhook',
      group,
      identity: `${hostname()}-${randomUUID()}`,
      owner: configuration['owner-cluster-role'],
      namespaceSelector: configuration['namespace-selector'],
      objectSelector: configuration['object-selector'],
      timeoutSeconds: configuration['webhook-timeout'],
      manager: `Lease ${namespace}/${WEBHOOK_NAME}`,
      breakGlass: breakGlass(configuration),
      clientConfig: (path) => clientConfigOf(configuration, serving?.caBundle(), path),
      onRead: (configurations) => serving?.observe(configurations.flatMap(bundlesOf)),
      logger,
    },
  )
}

/** Commands that permanently take the webhook out of service: a running leader reverts other changes within seconds. */
function breakGlass({ role, namespace, 'webhook-url': url }: ServerConfiguration): string {
  const deployment = role === 'leader' ? LEADER_NAME : WEBHOOK_NAME
  const stop =
    url === ''
      ? `kubectl -n ${namespace} scale deployment ${deployment} --replicas=0 && kubectl -n ${namespace} wait --for=delete pod -l app.kubernetes.io/name=${deployment} --timeout=60s`
      : 'stop every server that runs with --arming'
  const remove = `kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration ${WEBHOOK_NAME}`
  return `Changes of this object are undone within seconds. First: ${stop}. Then: ${remove}`
}

/** How API servers call the webhook. Throws while the CA that this server manages itself is not known. */
export function clientConfigOf(
  { service, namespace, certificates, 'webhook-url': url }: ServerConfiguration,
  bundle: string | undefined,
  path: '/validate' | '/mutate',
): ClientConfig {
  // Without a caBundle, an apply would remove the CA by which API servers trust the webhook.
  if (certificates === 'self-managed' && bundle === undefined)
    throw new Error('the CA in the Secret is not known yet')
  const where = url === '' ? { service: { namespace, name: service, port: 443, path } } : { url: url + path }
  return bundle === undefined ? where : { ...where, caBundle: Buffer.from(bundle).toString('base64') }
}
