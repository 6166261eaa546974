import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Server as TlsServer } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { clientGate } from '../certificates/clients.ts'
import { buildProbes, buildWebhook, type Parts, secureOptions } from './app.ts'
import { openArming } from './armed.ts'
import { SERVER_FLAGS, type ServerConfiguration } from './configuration.ts'
import { helpLines, readFlags, UsageError } from '../configuration/flags.ts'
import { logInBatches } from './log-batches.ts'
import { createMetrics } from './metrics.ts'
import { openCluster } from './open-cluster.ts'
import { clientOptions, openServing } from './serving.ts'

const USAGE = [
  'Usage: npm start -- [flags]',
  '',
  'Admission webhook for the authentication resources of vMCP.',
  '',
]

async function main(): Promise<void> {
  const { values, positionals } = readFlags(SERVER_FLAGS, process.argv.slice(2), process.env)
  if (positionals.length > 0) throw new UsageError(`'${positionals[0]}' is not a flag`)
  if (values.help) process.stdout.write([...USAGE, ...helpLines(SERVER_FLAGS), ''].join('\n'))
  else await serve(values)
}

async function serve(configuration: ServerConfiguration): Promise<void> {
  const { host, mode, severity, 'api-group': group, 'cert-dir': folder } = configuration
  const ended = new AbortController()
  const impatient = new AbortController()
  const destination = logInBatches()
  const logger = pino({ level: configuration['log-level'], base: null }, destination)
  const metrics = createMetrics()
  const delay = configuration['shutdown-delay'] * 1_000
  let listening = false
  let stopping = false
  const stop = async (cause: string, code = 0) => {
    if (stopping) {
      impatient.abort()
      return
    }
    stopping = true
    logger.info({ cause, delay }, 'stopping')
    if (!listening) process.exit(code)
    await setTimeout(delay, undefined, { signal: impatient.signal }).catch(() => undefined)
    ended.abort()
    await Promise.race([Promise.all([webhook.close(), armed]), setTimeout(DRAIN)])
    cluster?.close()
    process.exit(code)
  }
  // Before anything is begun: a server that still starts is ended in order as well.
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'uncaught error')
    metrics.uncaught()
    destination.flushSync()
    if (stopping) process.exit(1)
    void stop('uncaught error', 1)
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => void stop(signal))
  // Nobody may read it any more.
  process.stderr.on('error', () => undefined)
  const settings = { mode, severities: severity }
  const serviceAccountAudience = configuration['service-account-audience']
  const cluster = await openCluster(configuration, settings, logger, metrics.registry)
  const serving = await openServing(configuration, cluster?.connection, logger, ended.signal)
  metrics.serving(() => serving.state())
  const arming = openArming(configuration, cluster?.connection, serving, logger)
  if (arming !== undefined) metrics.arming(() => arming.state)
  const tls = await clientOptions(configuration['client-ca'])
  const gate = clientGate({ subjects: configuration['client-names'] })
  const parts: Parts = {
    engine: { group, settings, world: cluster?.world, serviceAccountAudience },
    logger,
    metrics,
    live: cluster?.live,
    mostInFlight: configuration['most-in-flight'],
    isStopping: () => stopping,
  }
  let trustedBy = Infinity
  /** Nobody is to be sent to a pair of a CA made anew before the configurations carry that; but nor is it waited for long. */
  const isTrusted = () =>
    serving.isTrusted() || (arming?.state.errors ?? 0) > 0 || performance.now() > trustedBy
  /** Another replica may have one that lasts; where none has, nothing is lost that an API server could still reach. */
  const isExpired = () => (serving.state().expiry.leaf ?? Infinity) <= Date.now()
  const isReady = () => listening && !stopping && (cluster?.isSynced() ?? true) && isTrusted() && !isExpired()
  const webhook = buildWebhook(parts, serving.pair, tls && { tls, gate })
  const server = webhook.server as unknown as TlsServer
  serving.follow((pair) => {
    server.setSecureContext({ ...secureOptions(pair), ...tls })
    logger.info({}, 'certificates: serving another one')
  })
  const probes = buildProbes(parts, isReady)
  const url = `https://${await listen(webhook, host, configuration.port)}`
  const probeUrl = `http://${await listen(probes, host, configuration['probe-port'])}`
  listening = true
  trustedBy = performance.now() + TRUST
  logger.info({ url, probeUrl, mode, group, certificates: configuration.certificates }, 'listening')
  destination.flushSync()
  const ca = configuration.certificates === 'local' ? join(folder, 'ca.crt') : undefined
  process.stderr.write(welcome({ url, probeUrl, ca, told: serving.told, cluster: cluster?.server }))
  const armed = arming?.run(ended.signal)
}

/** Milliseconds in which the replica that leads has learned of another CA and written it: it looks every minute. */
const TRUST = 90_000
/**
 * Milliseconds for what has begun: as long as an API server waits unless it is told otherwise. Then the end comes anyway:
 * Node would wait for connections on which nothing was ever sent, and API servers keep such.
 */
const DRAIN = 10_000

async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new UsageError(`port ${port} of ${host} is in use; name another one, or 0 for a free one`)
    throw error
  }
  const address = app.server.address() as AddressInfo
  return `${host.includes(':') ? `[${host}]` : host}:${address.port}`
}

interface Welcome {
  readonly url: string
  readonly probeUrl: string
  /** Of certificates for local use. */
  readonly ca: string | undefined
  readonly told: string
  readonly cluster: string | undefined
}

function welcome(at: Welcome): string {
  return [
    at.told,
    `POST ${at.url}/validate   judges a resource`,
    `POST ${at.url}/mutate     adds defaults`,
    `GET  ${at.probeUrl}/livez /readyz /metrics`,
    at.cluster === undefined
      ? 'each resource is judged alone; --kubeconfig FILE judges it beside those of a cluster'
      : `each resource is judged beside those of ${at.cluster}`,
    ...(at.ca === undefined
      ? []
      : [
          'try:',
          `  curl --cacert ${at.ca} -H 'content-type: application/json' -d @examples/review.json ${at.url}/validate`,
          '  npx vmcp-admission check examples',
        ]),
    '',
  ].join('\n')
}

main().catch((error: unknown) => {
  const usage = error instanceof UsageError
  process.stderr.write(
    `${usage ? '' : 'cannot start: '}${error instanceof Error ? error.message : String(error)}\n`,
  )
  if (usage) process.stderr.write('--help lists the flags\n')
  process.exit(usage ? 2 : 1)
})
