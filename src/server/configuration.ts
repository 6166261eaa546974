import { DEFAULT_API_GROUP } from '../kinds/index.ts'
import { ALL_IDS } from '../review/engine-ids.ts'
import { parseSeveritySetting, type SeveritySetting } from '../review/settings.ts'
import { choice, type Flag, port, text, toggle, type Values } from './flags.ts'

const severity: Flag<readonly SeveritySetting[]> = {
  help: 'weigh one rule: ID[:PATH]=error|warning|off[@NAMESPACE,...]; may be repeated, the last that applies counts',
  argument: 'SETTING',
  repeated: true,
  fallback: [],
  read: (value, before) => {
    const setting = parseSeveritySetting(value, ALL_IDS)
    if (typeof setting === 'string') throw new Error(setting)
    return [...before, setting]
  },
}

/** The settings that decide what is found: the same for the server and the CLI. */
export const JUDGING_FLAGS = {
  'api-group': text('API group of the resources', 'GROUP', DEFAULT_API_GROUP),
  severity,
}

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
