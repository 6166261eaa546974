import { choice, text, toggle, UsageError } from '../../configuration/flags.ts'
import { defineCommand, print, UNREAD } from '../define-command.ts'
import { needCluster } from '../input/cluster-flags.ts'
import { openConfiguration } from '../input/configuration.ts'
import { openReading } from '../input/world.ts'
import { ACCESS_FLAGS, withRelease } from './access/flags.ts'
import { claimsBeside } from './role/load-claims.ts'
import { roleOf } from './role/one-caller.ts'

const { config, release, kubeconfig, 'api-group': group } = ACCESS_FLAGS

/** The command `role`, the former name of `access --config FILE --claims FILE`. */
export const role = defineCommand({
  name: 'role',
  summary: 'print which IAM role a caller gets, and why',
  arguments: [
    ['--config FILE --claims FILE|-'],
    ['--cluster --config NAME --claims FILE|-', 'print the same for a configuration in a cluster'],
  ],
  flags: {
    config,
    claims: text(
      'the claims of the caller: a JSON object or a JWT in a file, or - for standard input',
      'FILE',
      '',
    ),
    release: {
      ...release,
      help: 'the release of the operator whose gateway decides, such as 0.58; without it that of the configuration file, or else all of them',
    },
    output: choice('format of the output', ['human', 'json'], 'human'),
    'api-group': group,
    'config-file': ACCESS_FLAGS['config-file'],
    cluster: toggle('read the configuration from a cluster'),
    kubeconfig,
  },
  examples: ['--config aws.yaml --claims ann.json'],
  exitCodes: { 0: 'a role', 1: 'no role', 3: UNREAD },
  run: async ({ flags, names, args, environment }) => {
    if (names.length > 0 || flags.config === '' || flags.claims === '')
      throw new UsageError('name a configuration and claims: role --config FILE --claims FILE|-')
    needCluster(flags.cluster, args, ['kubeconfig'])
    const configuration = await openConfiguration(flags['config-file'], flags.cluster ? [] : [flags.config])
    const reading = openReading(flags, configuration)
    const claims = claimsBeside(flags.config, flags.claims)
    return print(await roleOf(withRelease(flags, configuration), claims, reading, environment), flags.output)
  },
})
