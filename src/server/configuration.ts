import { choice, port, text, toggle, type Values } from '../configuration/flags.ts'
import { JUDGING_FLAGS } from '../configuration/judging.ts'

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
  'log-level': choice('least level that is logged', ['debug', 'info', 'warn', 'error', 'silent'], 'info'),
  help: toggle('print this and exit'),
}

export type ServerConfiguration = Values<typeof SERVER_FLAGS>
