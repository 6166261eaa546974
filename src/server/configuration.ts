import { getHeapStatistics } from 'node:v8'
import {
  choice,
  type Flag,
  namespaceNames,
  port,
  text,
  toggle,
  UsageError,
  type Values,
} from '../configuration/flags.ts'
import { type LabelSelector, parseLabelSelector } from '../configuration/label-selector.ts'
import { WEBHOOK_TIMEOUT } from '../registration/index.ts'
import { ROTATION } from '../certificates/rotation.ts'
import { JUDGING_FLAGS } from '../configuration/judging.ts'

const count = (help: string, argument: string, fallback: number): Flag<number> => ({
  help,
  argument,
  fallback,
  read: (written) => {
    if (!/^\d{1,9}$/.test(written)) throw new Error(`'${written}' is not a whole number`)
    return Number(written)
  },
})

const names = (help: string, argument: string): Flag<readonly string[]> => ({
  help,
  argument,
  fallback: [],
  read: (written) => written.split(',').map((name) => name.trim()),
})

const webhookUrl: Flag<string> = {
  help: 'URL by which the API server reaches the webhook instead of the Service, such as https://10.0.0.1:8443',
  argument: 'URL',
  fallback: '',
  read: (written) => {
    const url = URL.canParse(written) ? new URL(written) : undefined
    if (url?.href !== `${url?.origin}/`)
      throw new Error(`'${written}' is not a URL without a path, such as https://10.0.0.1:8443`)
    if (url.protocol !== 'https:')
      throw new Error(`'${written}' is not https, and API servers call nothing else`)
    return url.origin
  },
}

const selector = (of: string): Flag<LabelSelector> => ({
  help: `selector of the ${of} for which the webhook is registered, in the syntax of kubectl -l; by default all`,
  argument: 'SELECTOR',
  fallback: {},
  read: parseLabelSelector,
})

const webhookTimeout: Flag<number> = {
  help: 'how long the API server waits for an answer of the webhook: 1 to 30',
  argument: 'SECONDS',
  fallback: WEBHOOK_TIMEOUT,
  read: (written) => {
    if (!/^([1-9]|[12]\d|30)$/.test(written))
      throw new Error(`'${written}' is not a number of seconds from 1 to 30`)
    return Number(written)
  },
}

/** All settings of the server, as flags and environment variables. */
export const SERVER_FLAGS = {
  role: choice(
    'what this process does: webhook answers reviews and writes nothing but reports; leader writes the webhook configurations and the CA, and answers none; all does both',
    ['all', 'webhook', 'leader'],
    'all',
  ),
  host: text('address to listen on', 'ADDRESS', '127.0.0.1'),
  port: port('port of the webhook (HTTPS); 0 picks a free one', 8443),
  'probe-port': port('port of /livez, /readyz and /metrics (HTTP); 0 picks a free one', 8080),
  'cert-dir': text(
    'folder of tls.crt, tls.key and ca.crt; made for local use when it has none',
    'FOLDER',
    'certs',
  ),
  certificates: choice(
    'where the serving certificate comes from: a local CA, files that something else renews, or a self-managed CA in a Secret',
    ['local', 'files', 'self-managed'],
    'local',
  ),
  'ca-lifetime': count('lifetime of a self-managed CA', 'SECONDS', ROTATION.authorityLifetime / 1_000),
  'leaf-lifetime': count('lifetime of a certificate that it signs', 'SECONDS', ROTATION.leafLifetime / 1_000),
  'ca-propagation': count(
    'how long both webhook configurations carry a new CA before it signs',
    'SECONDS',
    ROTATION.propagation / 1_000,
  ),
  'client-ca': text(
    'PEM file of the CAs of client certificates, read again when it changes; without it no certificate is asked for',
    'FILE',
    '',
  ),
  'client-names': names('names of which a client certificate must have one, separated by commas', 'NAMES'),
  arming: choice(
    'on writes the webhook configurations, failing closed once proved; ignore writes them failing open; off leaves them alone',
    ['on', 'ignore', 'off'],
    'off',
  ),
  service: text('Service by which the API server reaches the webhook', 'NAME', 'vmcp-admission'),
  namespace: text('namespace of the Service, the Lease and the Secret of the CA', 'NAME', 'vmcp-system'),
  'webhook-url': webhookUrl,
  'namespace-selector': selector('namespaces'),
  'object-selector': selector('objects'),
  'webhook-timeout': webhookTimeout,
  'owner-cluster-role': text(
    'ClusterRole that owns the webhook configurations: they are deleted with it',
    'NAME',
    '',
  ),
  mode: choice('enforce denies; warn turns every denial into a warning', ['enforce', 'warn'], 'enforce'),
  'config-file': text(
    'file of severities and exemptions, such as a mounted ConfigMap; read again when it changes, see docs/configuration.md',
    'FILE',
    '',
  ),
  ...JUDGING_FLAGS,
  kubeconfig: text(
    'judge resources beside those of this cluster; in a pod its own cluster is used without it',
    'FILE',
    '',
  ),
  'local-cluster': text(
    'serve the cluster of this kubeconfig from this machine for a trial: install what is missing, register failing open, remove all of it at the end',
    'FILE',
    '',
  ),
  'installed-release': choice(
    'auto reads the CRDs of the operator every 30 s: what they accept is not an error; off judges by the release of the configuration file, or else the specification alone',
    ['auto', 'off'],
    'auto',
  ),
  'watch-namespaces': namespaceNames('watch these namespaces only, separated by commas: then Roles suffice'),
  'check-secrets': {
    ...choice(
      'look whether Secrets that are named exist, have the key and are long enough; needs --client-ca, or the value any-caller',
      ['off', 'known-callers', 'any-caller'],
      'off',
    ),
    argument: 'any-caller',
    alone: 'known-callers',
  },
  'check-config-maps': toggle(
    'look whether ConfigMaps of certificates and policies that are named exist, have the key and hold certificates',
  ),
  reports: toggle(
    'keep a report of each stored object with findings: a Report of OpenReports or, where only that CRD is there, a PolicyReport',
  ),
  defaults: choice(
    'which defaults /mutate writes into specs: all; those outside lists, so that files that are applied again need no webhook; or off: none',
    ['all', 'outside-lists', 'off'],
    'all',
  ),
  'service-account-audience': text(
    'audience that /mutate writes for tokens of service accounts where none is set',
    'AUDIENCE',
    '',
  ),
  'shutdown-delay': count('how long to go on serving after SIGTERM', 'SECONDS', 0),
  'most-in-flight': count(
    'reviews that may wait for the API server at a time; more are answered from the cache, or with 429',
    'COUNT',
    100,
  ),
  'body-memory': count('request bodies in memory; more are refused. 0: a tenth of the heap', 'MEGABYTES', 0),
  'cache-memory': count(
    'cache of other objects; objects beyond it are read when needed. 0: three tenths of the heap',
    'MEGABYTES',
    0,
  ),
  'log-level': choice('least level that is logged', ['debug', 'info', 'warn', 'error', 'silent'], 'info'),
  help: toggle('print this and exit'),
}

export type ServerConfiguration = Values<typeof SERVER_FLAGS>

/** Throws UsageError when settings contradict each other. */
export function checkTogether(configuration: ServerConfiguration): void {
  if (configuration['check-secrets'] === 'known-callers' && configuration['client-ca'] === '')
    throw new UsageError(
      '--check-secrets tells whoever reaches the port which Secrets exist: name the CAs of API servers with --client-ca FILE, or write --check-secrets=any-caller',
    )
  if (configuration['client-names'].length > 0 && configuration['client-ca'] === '')
    throw new UsageError(
      '--client-names has no effect without the CAs of client certificates: give --client-ca FILE',
    )
  if (configuration.reports && configuration['local-cluster'] !== '')
    throw new UsageError(
      '--local-cluster removes all that it writes, and keeps no reports: leave --reports out',
    )
  if (configuration.reports && configuration.role === 'leader')
    throw new UsageError('--reports needs the findings, which a leader has not: give it to --role webhook')
  if (configuration.defaults === 'off' && configuration['service-account-audience'] !== '')
    throw new UsageError(
      '--service-account-audience has no effect with --defaults off: leave one of them out',
    )
}

/** Throws UsageError when a setting needs a cluster; for a server that knows none. */
export function checkWithoutCluster(configuration: ServerConfiguration): void {
  if (configuration.reports) throw new UsageError('--reports writes to a cluster: give --kubeconfig FILE')
  const reading = {
    'check-secrets': configuration['check-secrets'] !== 'off',
    'check-config-maps': configuration['check-config-maps'],
    'watch-namespaces': configuration['watch-namespaces'].length > 0,
  }
  for (const [flag, isSet] of Object.entries(reading))
    if (isSet) throw new UsageError(`--${flag} reads a cluster: give --kubeconfig FILE`)
}

/** A memory budget in bytes: `megabytes` or, if they are 0, a share of the heap limit. */
export const memoryBudget = (megabytes: number, share: number): number =>
  megabytes > 0 ? megabytes * 2 ** 20 : Math.floor(getHeapStatistics().heap_size_limit * share)
