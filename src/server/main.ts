import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { localPair } from '../certificates/local.ts'
import { buildProbes, buildWebhook, type Parts } from './app.ts'
import { SERVER_FLAGS, type ServerConfiguration } from './configuration.ts'
import { helpLines, readFlags, UsageError } from '../configuration/flags.ts'
import { logInBatches } from './log-batches.ts'
import { createMetrics } from './metrics.ts'
import { openCluster } from './open-cluster.ts'

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
  const destination = logInBatches()
  const logger = pino({ level: configuration['log-level'], base: null }, destination)
  const metrics = createMetrics()
  const pair = await localPair(folder, host)
  metrics.serving(pair)
  const settings = { mode, severities: severity }
  const serviceAccountAudience = configuration['service-account-audience']
  const cluster = await openCluster(configuration, settings, logger, metrics.registry)
  const parts: Parts = {
    engine: { group, settings, world: cluster?.world, serviceAccountAudience },
    logger,
    metrics,
    live: cluster?.live,
    mostInFlight: configuration['most-in-flight'],
    isStopping: () => stopping,
  }
  let listening = false
  let stopping = false
  const isReady = () => listening && !stopping && (cluster?.isSynced() ?? true)
  const webhook = buildWebhook(parts, pair)
  const probes = buildProbes(parts, isReady)
  const url = `https://${await listen(webhook, host, configuration.port)}`
  const probeUrl = `http://${await listen(probes, host, configuration['probe-port'])}`
  listening = true
  logger.info({ url, probeUrl, mode, group, certificate: pair.made ? 'made' : 'read' }, 'listening')
  destination.flushSync()
  process.stderr.write(welcome({ url, probeUrl, folder, made: pair.made, cluster: cluster?.server }))
  const delay = configuration['shutdown-delay'] * 1_000
  const impatient = new AbortController()
  const stop = async (signal: string) => {
    if (stopping) {
      impatient.abort()
      return
    }
    stopping = true
    logger.info({ signal, delay }, 'stopping')
    await setTimeout(delay, undefined, { signal: impatient.signal }).catch(() => undefined)
    await webhook.close()
    cluster?.close()
    await probes.close()
    destination.flushSync()
    process.exit(0)
  }
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'uncaught error')
    destination.flushSync()
    process.exit(1)
  })
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop(signal))
}

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
  readonly folder: string
  readonly made: boolean
  readonly cluster: string | undefined
}

function welcome(at: Welcome): string {
  const ca = join(at.folder, 'ca.crt')
  return [
    at.made ? `made a local CA and certificate in ${at.folder}` : `serving the certificate in ${at.folder}`,
    `POST ${at.url}/validate   judges a resource`,
    `POST ${at.url}/mutate     adds defaults`,
    `GET  ${at.probeUrl}/livez /readyz /metrics`,
    at.cluster === undefined
      ? 'each resource is judged alone; --kubeconfig FILE judges it beside those of a cluster'
      : `each resource is judged beside those of ${at.cluster}`,
    'try:',
    `  curl --cacert ${ca} -H 'content-type: application/json' -d @examples/review.json ${at.url}/validate`,
    '  npx vmcp-admission check examples',
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
