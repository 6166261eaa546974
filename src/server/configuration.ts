import { choice, type Flag, port, text, toggle, type Values } from '../configuration/flags.ts'
import { JUDGING_FLAGS } from '../configuration/judging.ts'

const namespaces: Flag<readonly string[]> = {
  help: 'watch these namespaces only, separated by commas: then Roles suffice',
  argument: 'NAMES',
  fallback: [],
  read: (written) => {
    const names = written.split(',').map((name) => name.trim())
    const wrong = names.find((name) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
    if (wrong !== undefined) throw new Error(`'${wrong}' is not the name of a namespace`)
    return names
  },
}

const count = (help: string, argument: string, fallback: number): Flag<number> => ({
  help,
  argument,
  fallback,
  read: (written) => {
    if (!/^\d{1,6}$/.test(written)) throw new Error(`'${written}' is not a whole number`)
    return Number(written)
  },
})

/** Every setting of the server, by flag and by environment variable. */
export const SERVER_FLAGS = {
  host: text('address to listen on', 'ADDRESS', '127.0.0.1'),
  port: port('port of the webhook (HTTPS); 0 picks a free one', 8443),
  'probe-port': port('port of /livez, /readyz and /metrics (HTTP); 0 picks a free one', 8080),
  'cert-dir': text(
    'folder of tls.crt, tls.key and ca.crt; made for local use when it has none',
    'FOLDER',
    'certs',
  ),
  mode: choice('enforce denies; warn turns every denial into a warning', ['enforce', 'warn'], 'enforce'),
  ...JUDGING_FLAGS,
  kubeconfig: text(
    'judge resources beside those of this cluster; in a pod its own cluster is used without it',
    'FILE',
    '',
  ),
  'watch-namespaces': namespaces,
  'check-secrets': toggle('look whether Secrets that are named exist, have the key and are long enough'),
  'service-account-audience': text(
    'audience that /mutate writes for tokens of service accounts where none is set',
    'AUDIENCE',
    '',
  ),
  'shutdown-delay': count('how long to serve on after SIGTERM, while others stop sending', 'SECONDS', 0),
  'most-in-flight': count('reviews that may wait for the API server at a time; more are shed', 'COUNT', 100),
  'log-level': choice('least level that is logged', ['debug', 'info', 'warn', 'error', 'silent'], 'info'),
  help: toggle('print this and exit'),
}

export type ServerConfiguration = Values<typeof SERVER_FLAGS>
