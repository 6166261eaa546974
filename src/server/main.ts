#!/usr/bin/env node
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Server as TlsServer } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics } from 'prom-client'
import { clientGate } from '../certificates/clients.ts'
import { buildProbes, buildWebhook, type Parts, secureOptions } from './app.ts'
import { openArming } from './open-arming.ts'
import { Bodies } from './bodies.ts'
import { ConfigurationFile } from './configuration-file.ts'
import {
  checkTogether,
  checkWithoutCluster,
  memoryBudget,
  SERVER_FLAGS,
  type ServerConfiguration,
} from './configuration.ts'
import { helpLines, readFlags, UsageError } from '../configuration/flags.ts'
import { latestJudge } from './latest-judge.ts'
import { CLI, EXAMPLES, LocalCluster, quoted } from './local-cluster.ts'
import { logDestination, openLog } from './log-destination.ts'
import { createMetrics } from './metrics.ts'
import { type OpenClusterCache, openClusterCache, openConnection } from './open-cluster.ts'
import { openServing } from './open-serving.ts'
import { ClientAuthorities } from './client-authorities.ts'
import type { Serving, ServingState } from './serving.ts'
import { mayServe } from './trust-loop.ts'
import { errorMessage } from '../rule/index.ts'
import { collectGarbage } from './garbage.ts'
import { warmUp } from './warm-up.ts'

/** The command that starts the server: in a clone, in the image (at the path in the Dockerfile), or in the package. */
const START = import.meta.url.endsWith('.ts')
  ? 'npm start --'
  : import.meta.url === 'file:///app/dist/server/main.js'
    ? 'docker run IMAGE'
    : 'vmcp-admission-server'

const USAGE = [
  `Usage: ${START} [flags]`,
  '',
  'Admission webhook for the authentication resources of vMCP.',
  '',
]

async function main(): Promise<void> {
  const { values, positionals } = readFlags(SERVER_FLAGS, process.argv.slice(2), process.env)
  if (positionals.length > 0) throw new UsageError(`'${positionals[0]}' is not a flag`)
  if (values.help) process.stdout.write([...USAGE, ...helpLines(SERVER_FLAGS), ''].join('\n'))
  else {
    checkTogether(values)
    if (values['local-cluster'] === '') await serve(values)
    else await serveLocalCluster(new LocalCluster(values))
  }
}

/**
 * Serves the cluster of a trial (`--local-cluster`), and removes everything that it installed in this cluster before
 * the process ends, even by an error or a signal.
 */
async function serveLocalCluster(local: LocalCluster): Promise<void> {
  const leave = () => void local.close().then(() => process.exit(0))
  for (const signal of SIGNALS) process.on(signal, leave)
  try {
    const configuration = await local.prepare()
    for (const signal of SIGNALS) process.off(signal, leave)
    await serve(configuration, local)
  } catch (error) {
    await local.close()
    throw error
  }
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

async function serve(configuration: ServerConfiguration, local?: LocalCluster): Promise<void> {
  const { mode, role, 'api-group': group } = configuration
  const ended = new AbortController()
  const hurried = new AbortController()
  const destination = logDestination()
  const logger = openLog(destination, configuration['log-level'])
  const metrics = createMetrics()
  metrics.log(destination.dropped)
  collectDefaultMetrics({ register: metrics.registry })
  const delay = configuration['shutdown-delay'] * 1_000
  let listening = false
  let warm = false
  let stopping = false
  const stop = async (cause: string, code = 0) => {
    if (stopping) {
      hurried.abort()
      return
    }
    stopping = true
    logger.info({ cause, delay }, 'stopping')
    await local?.close()
    if (!listening) process.exit(code)
    await setTimeout(delay, undefined, { signal: hurried.signal }).catch(() => undefined)
    ended.abort()
    await Promise.race([Promise.all([webhook?.close(), armed, reported]), setTimeout(DRAIN)])
    cluster?.stop()
    connection?.close()
    process.exit(code)
  }
  // This handler is installed first, so that a server that is still starting also stops in an orderly way.
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'uncaught error')
    metrics.uncaught()
    destination.flushSync()
    if (stopping) process.exit(1)
    void stop('uncaught error', 1)
  })
  for (const signal of SIGNALS) process.on(signal, () => void stop(signal))
  // A closed standard error must not stop the process.
  process.stderr.on('error', () => undefined)
  const chosen = new ConfigurationFile(configuration, logger)
  // The leader judges no objects, so it does not read the configuration file.
  const readsFile = configuration['config-file'] !== '' && role !== 'leader'
  if (readsFile) await chosen.open()
  const connection = await openConnection(configuration)
  if (connection === undefined) checkWithoutCluster(configuration)
  // The leader judges no objects, so it needs no cache.
  const cluster =
    connection === undefined || role === 'leader'
      ? undefined
      : openClusterCache(configuration, connection, chosen, logger, metrics.registry)
  if (readsFile) {
    metrics.configuration(() => chosen.state())
    void chosen.keepReading(ended.signal, () => cluster?.recheck())
  }
  const serving = await openServing(configuration, connection, logger, ended.signal)
  if (serving !== undefined) metrics.serving(() => stateOf(serving, role))
  const arming = openArming(configuration, connection, serving, logger)
  if (arming !== undefined) metrics.arming(() => arming.state)
  const clients = await ClientAuthorities.open(configuration['client-ca'], logger)
  const gate = clientGate({ subjects: configuration['client-names'] })
  const bodies = new Bodies(memoryBudget(configuration['body-memory'], 0.1))
  metrics.bodies(bodies)
  const parts: Parts = {
    judge: latestJudge(
      {
        group,
        state: cluster?.state ?? 'no cluster',
        defaults: {
          written: configuration.defaults,
          serviceAccountAudience: configuration['service-account-audience'],
        },
      },
      {
        settings: () => chosen.settings,
        release: () => (cluster === undefined ? chosen.release : cluster.release()),
      },
    ),
    logger,
    metrics,
    live: cluster?.live,
    mostInFlight: configuration['most-in-flight'],
    bodies,
    isStopping: () => stopping,
  }
  let listeningSince = Infinity
  /**
   * With an expired certificate the server is not ready: API servers would refuse the certificate, and another replica
   * may have a valid one.
   */
  const isExpired = (served: Serving) => (served.state().expiry.leaf ?? Infinity) <= Date.now()
  const answers = role === 'leader' ? undefined : serving
  const whyNotReady = () => {
    if (stopping) return 'stopping'
    const clockProblem = serving?.clockProblem()
    if (clockProblem !== undefined) return clockProblem
    if (!listening) return 'starting'
    if (!(cluster?.isSynced() ?? true)) return 'the cache of the cluster is not filled yet'
    if (answers === undefined) return undefined
    if (!warm) return 'warming up'
    if (!mayServe(answers, arming?.state, performance.now() - listeningSince))
      return 'the webhook configurations do not carry the CA of its certificate yet'
    return isExpired(answers) ? 'its certificate has expired' : undefined
  }
  const probes = buildProbes(parts, whyNotReady)
  const probeUrl = `http://${await listen(probes, configuration, 'probe-port')}`
  let pair = await answers?.first()
  const webhook =
    pair &&
    buildWebhook(parts, pair, clients && { tls: clients.tls, gate, changedAt: () => clients.changedAt })
  const serveLatest = () => {
    const server = webhook?.server as TlsServer | undefined
    if (pair !== undefined) server?.setSecureContext({ ...secureOptions(pair), ...clients?.tls })
  }
  answers?.onNext((next) => {
    pair = next
    serveLatest()
    logger.info({}, 'certificates: serving another one')
  })
  if (webhook !== undefined)
    void clients?.keepReading(ended.signal, () => {
      serveLatest()
      // Open connections were verified by the previous CAs. Idle ones are closed now, busy ones after their next
      // answer.
      webhook.server.closeIdleConnections()
    })
  const url = webhook && `https://${await listen(webhook, configuration, 'port')}`
  listening = true
  listeningSince = performance.now()
  logger.info({ url, probeUrl, role, mode, group, certificates: configuration.certificates }, 'listening')
  destination.flushSync()
  process.stderr.write(
    welcome({ url, probeUrl, source: serving?.source, cluster: connection?.server }, configuration),
  )
  const armed = arming?.run(ended.signal)
  const reported = cluster?.reports?.run(ended.signal)
  // Reviews that arrive during the warm-up are answered too, but more slowly.
  if (answers !== undefined)
    void warmUp(parts, await answers.first(), ended.signal)
      .catch((error: unknown) => logger.warn({ err: error }, 'not warmed up'))
      .then(() => filled(cluster, ended.signal))
      .then(collectGarbage)
      .catch((error: unknown) => logger.debug({ err: error }, 'garbage not collected'))
      .finally(() => (warm = true))
  const isReady = () => whyNotReady() === undefined
  if (url !== undefined) await local?.register({ url, ca: serving?.caBundle() ?? '', isReady })
}

/** Waits until the cache of the cluster is filled. */
async function filled(cluster: OpenClusterCache | undefined, ended: AbortSignal): Promise<void> {
  while (!ended.aborted && cluster?.isSynced() === false) await setTimeout(POLL)
}

/** Milliseconds between two checks whether the cache is filled. */
const POLL = 20

/**
 * Milliseconds that unanswered requests get at shutdown: as long as an API server waits by default. Then the process
 * exits in any case, because Node would wait for idle connections, which API servers keep open.
 */
const DRAIN = 10_000

async function listen(
  app: FastifyInstance,
  configuration: ServerConfiguration,
  flag: 'port' | 'probe-port',
): Promise<string> {
  const { host, [flag]: port } = configuration
  try {
    await app.listen({ host, port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new UsageError(
        `port ${port} of ${host} is in use: name another one with --${flag}, or 0 for a free one`,
      )
    throw error
  }
  const address = app.server.address() as AddressInfo
  return `${host.includes(':') ? `[${host}]` : host}:${address.port}`
}

/** The state of the certificates, for metrics; without the leaf certificate of a leader, which serves no reviews. */
function stateOf(serving: Serving, role: ServerConfiguration['role']): ServingState {
  const state = serving.state()
  return role === 'leader' ? { ...state, expiry: { ...state.expiry, leaf: undefined } } : state
}

interface Welcome {
  /** The URL of the webhook; undefined for the leader, which answers no reviews. */
  readonly url: string | undefined
  readonly probeUrl: string
  readonly source: string | undefined
  /** The URL of the API server. */
  readonly cluster: string | undefined
}

function welcome(at: Welcome, configuration: ServerConfiguration): string {
  if (at.url === undefined)
    return [
      `GET  ${at.probeUrl}/livez /readyz /metrics`,
      `writes the webhook configurations of ${at.cluster}, and answers no reviews`,
      '',
    ].join('\n')
  const { certificates, kubeconfig, arming, 'cert-dir': folder, 'local-cluster': local } = configuration
  const curl = `curl --cacert ${join(folder, 'ca.crt')} -H 'content-type: application/json' -d @examples/review.json`
  return [
    ...(at.source === undefined ? [] : [at.source]),
    `POST ${at.url}/validate   judges a resource`,
    `POST ${at.url}/mutate     adds defaults`,
    `GET  ${at.probeUrl}/livez /readyz /metrics`,
    at.cluster === undefined
      ? 'each resource is judged alone; --local-cluster KUBECONFIG tries it with a cluster'
      : `each resource is judged beside those of ${at.cluster}`,
    ...(certificates === 'local' && local === ''
      ? [
          'a review that is denied, to send from another terminal:',
          `  ${curl} ${at.url}/validate`,
          'the same checks of files:',
          `  ${CLI} check ${EXAMPLES[1]}`,
        ]
      : []),
    ...(kubeconfig !== '' && arming === 'off' && local === '' ? unregistered(at.url, configuration) : []),
    '',
  ].join('\n')
}

/** Advice on registering this process as a webhook at an API server, because the process does not register itself. */
function unregistered(url: string, { kubeconfig, namespace, host, port }: ServerConfiguration): string[] {
  const file = quoted(kubeconfig)
  const isHere = new URL(url).hostname === host && /^(127\.|localhost$)/.test(host)
  return [
    'no API server asks this process: it registers no webhook (--arming off)',
    'for a trial that registers it, and removes everything at the end:',
    `  ${START} --local-cluster ${file}`,
    'to register it so that it stays (the namespace holds the Lease of the replica that writes):',
    `  kubectl --kubeconfig ${file} create namespace ${namespace}`,
    `  ${START} --kubeconfig ${file} --host ${host} --port ${port} --arming on --webhook-url ${url}`,
    ...(isHere
      ? ['  (an API server in a container or on another machine does not reach this host: name an address)']
      : []),
    `  kubectl --kubeconfig ${file} apply -f ${EXAMPLES[0]}`,
    `  ${CLI} uninstall --kubeconfig ${file} --namespace ${namespace}`,
  ]
}

main().catch((error: unknown) => {
  const usage = error instanceof UsageError
  process.stderr.write(`${usage ? '' : 'cannot start: '}${errorMessage(error)}\n`)
  if (usage) process.stderr.write('--help lists the flags\n')
  process.exit(usage ? 2 : 1)
})
