import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { Logger } from 'pino'
import { watchFiles } from '../certificates/files.ts'
import { localPair, makePair } from '../certificates/local.ts'
import type { ServingPair } from '../certificates/serving-pair.ts'
import { authoritiesIn } from '../certificates/x509.ts'
import type { ClusterConnection } from '../cluster/index.ts'
import { UsageError } from '../configuration/flags.ts'
import type { ServerConfiguration } from './configuration.ts'
import { LatestPair } from './latest-pair.ts'
import { calledNames, localNames } from './names.ts'
import type { Serving } from './serving.ts'
import { TrustLoop } from './trust-loop.ts'

/**
 * Opens the source of serving certificates that `--certificates` selects; undefined for `--role leader` with
 * `--certificates files`, because such a leader serves nothing and knows no CA. Throws an Error that describes a
 * problem with the files, and UsageError when flags contradict each other.
 */
export async function openServing(
  configuration: ServerConfiguration,
  connection: ClusterConnection | undefined,
  logger: Logger,
  signal: AbortSignal,
): Promise<Serving | undefined> {
  if (configuration['local-cluster'] !== '') return openInMemory(configuration)
  switch (configuration.certificates) {
    case 'files':
      return configuration.role === 'leader' ? undefined : openFiles(configuration, logger, signal)
    case 'self-managed':
      return openSelfManaged(configuration, connection, logger, signal)
    case 'local':
      return openLocal(configuration)
  }
}

async function openLocal(configuration: ServerConfiguration): Promise<Serving> {
  const { 'cert-dir': folder, arming, 'webhook-url': url } = configuration
  const pair = await localPair(folder, localNames(configuration))
  const [name = ''] = localNames(configuration)
  if (arming !== 'off' && url !== '' && !isFor(pair.certificate, name))
    throw new UsageError(
      `the certificate in ${folder} is not for ${name}, so no API server would call it: name another --cert-dir, where one is made`,
    )
  return fixedServing(
    pair,
    pair.made ? `made a local CA and certificate in ${folder}` : `serving the certificate in ${folder}`,
  )
}

function isFor(certificate: string, name: string): boolean {
  const leaf = new X509Certificate(certificate)
  return (isIP(name) ? leaf.checkIP(name) : leaf.checkHost(name)) !== undefined
}

/** A serving certificate made for this process, in memory only. */
async function openInMemory(configuration: ServerConfiguration): Promise<Serving> {
  return fixedServing(await makePair(localNames(configuration)), 'made a certificate for this run')
}

/** A certificate source whose certificate never changes; `source` is its description for the log. */
function fixedServing(pair: ServingPair, source: string): Serving {
  const ca = pair.ca === undefined ? undefined : firstExpiry(pair.ca)
  return {
    first: () => Promise.resolve(pair),
    source,
    onNext: () => undefined,
    caBundle: () => pair.ca,
    observe: () => undefined,
    isTrusted: () => true,
    clockProblem: () => undefined,
    state: () => ({
      expiry: { leaf: firstExpiry(pair.certificate), ca, bundle: ca },
      rotations: 0,
      errors: 0,
    }),
  }
}

async function openFiles(
  configuration: ServerConfiguration,
  logger: Logger,
  signal: AbortSignal,
): Promise<Serving> {
  const folder = configuration['cert-dir']
  const pairs = new LatestPair()
  const followed = watchFiles(folder, {
    signal,
    names: calledNames(configuration),
    onPair: pairs.put,
    onProblem: (problem) => logger.error({ folder, problem }, 'certificates: the pair in use stays'),
    onWarning: (problem) => logger.warn({ folder, problem }, 'certificates'),
  })
  await followed.check()
  const { problem } = followed.status()
  const first = pairs.latest
  if (first === undefined) throw new Error(`${folder}: ${problem ?? 'no certificate'}`)
  return {
    first: () => Promise.resolve(first),
    source: `serving the certificate in ${folder}, and its successors`,
    onNext: (use) => pairs.onNext(first, use),
    caBundle: () => undefined,
    observe: () => undefined,
    isTrusted: () => true,
    clockProblem: () => undefined,
    state: () => {
      const { expiry, pairs: used, errors } = followed.status()
      const ca = pairs.latest?.ca === undefined ? undefined : firstExpiry(pairs.latest.ca)
      return { expiry: { leaf: expiry.leaf, ca, bundle: ca }, rotations: used - 1, errors }
    },
  }
}

function openSelfManaged(
  configuration: ServerConfiguration,
  connection: ClusterConnection | undefined,
  logger: Logger,
  signal: AbortSignal,
): Serving {
  if (connection === undefined)
    throw new UsageError('--certificates self-managed keeps a CA in a cluster: give --kubeconfig FILE')
  if (configuration.arming === 'off')
    throw new UsageError(
      '--certificates self-managed needs --arming on or ignore: no other tool knows its CA',
    )
  return new TrustLoop(configuration, connection, logger, signal)
}

/** When the first of the certificates expires; undefined when there is none, or when one cannot be read. */
function firstExpiry(pem: string): number | undefined {
  try {
    const all = authoritiesIn(pem).map(({ expires }) => expires)
    return all.length === 0 ? undefined : Math.min(...all)
  } catch {
    return undefined
  }
}
