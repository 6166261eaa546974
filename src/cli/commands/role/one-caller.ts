import { existsSync } from 'node:fs'
import { type Environment, isNamespaceName, UsageError } from '../../../configuration/flags.ts'
import { mcpExternalAuthConfig } from '../../../kinds/mcp-external-auth-config/index.ts'
import { printLines, printUnread } from '../../input/reading.ts'
import type { CommandResult } from '../../define-command.ts'
import { EXIT, IN_CLUSTER } from '../../output/report.ts'
import type { ReadClaims } from '../../input/claims.ts'
import {
  UNKNOWN_TOKENS,
  arriving,
  leftOutOf,
  type CallerTokens,
  callerTokensOf,
} from '../../../access/role/caller-tokens.ts'
import type { DocumentReading } from '../../../documents/index.ts'
import { stateOfCluster, unreadOf } from '../../input/given-state.ts'
import type { ClusterChoice, NameInNamespace } from '../../input/live/index.ts'
import {
  configIn,
  type FoundConfig,
  gatewayRelease,
  parseLocation,
  typeOf,
  UnreadConfiguration,
  unreadFile,
} from './config.ts'
import {
  commonRole,
  decideForReleases,
  matchersOf,
  type ReleaseDecision,
  sessionNameClaimOf,
} from '../../../access/role/decide.ts'
import { evaluations } from './evaluations.ts'
import { oneLine } from '../../output/one-line.ts'
import { printRole, printRoleJson, printUnreadJson } from '../../output/role.ts'
import { type Generation } from '../../../kinds/mcp-external-auth-config/generations.ts'
import { generationsOf } from '../../../access/role/releases.ts'
import { sessionNameFrom } from '../../../access/role/session-name.ts'
import { errorMessage } from '../../../rule/index.ts'

/** The flags that select the MCPExternalAuthConfig and the caller. */
export interface OneCaller {
  /** A file, `FILE#NAME` for one of several objects, or - for stdin; with `cluster`, NAME or NAMESPACE/NAME. */
  readonly config: string
  readonly cluster: boolean
  readonly kubeconfig: string
  readonly 'api-group': string
  readonly release: string
}

/** Determines which IAM role a caller gets, and why. Throws UsageError. */
export async function roleOf(
  flags: OneCaller,
  claimsOf: () => Promise<ReadClaims>,
  reading: DocumentReading,
  environment: Environment,
): Promise<CommandResult<'human' | 'json'>> {
  try {
    const config = flags.cluster
      ? await configInCluster(flags, reading, environment)
      : await findConfig(flags, reading)
    const { claims: given, fromToken } = await claimsOf()
    const claims = arriving(given, config.callerTokens)
    const outcomes = await outcomesFor(config.value, claims, generationsOf(flags.release))
    const report = {
      config: { namespace: config.namespace, name: config.name },
      claims: fromToken ? ('token' as const) : ('json' as const),
      release: flags.release,
      outcomes,
      sessionName: sessionNameFrom(claims, sessionNameClaimOf(config.value)),
      callerTokens: config.callerTokens,
      leftOut: leftOutOf(given, claims),
    }
    return {
      code: commonRole(outcomes) === undefined ? EXIT.findings : EXIT.clean,
      text: (output) => (output === 'json' ? printRoleJson(report) : printRole(report)),
    }
  } catch (error) {
    if (!(error instanceof UnreadConfiguration)) throw error
    printUnread([error.located])
    return {
      code: EXIT.unread,
      text: (output) => (output === 'json' ? printUnreadJson([error.located]) : ''),
    }
  }
}

async function findConfig(
  { config: written, release }: OneCaller,
  reading: DocumentReading,
): Promise<FoundConfig> {
  const { file, name } = existsSync(written) ? { file: written } : parseLocation(written)
  if (file === '-' || existsSync(file)) return configIn(file, name, reading, release)
  throw unreadFile(
    file,
    'no such file or folder; --cluster reads the configuration of this name from a cluster, ' +
      `and --config - takes what 'kubectl get mcpexternalauthconfig NAME -o yaml' prints`,
  )
}

async function configInCluster(
  { config: written, kubeconfig, release }: OneCaller,
  { group }: DocumentReading,
  environment: Environment,
): Promise<FoundConfig> {
  const [, given, name] = /^(?:([^/]+)\/)?([a-z0-9][-a-z0-9.]*)$/.exec(written) ?? []
  if (name === undefined || (given !== undefined && !isNamespaceName(given)))
    throw new UsageError(
      `with --cluster, --config is NAME or NAMESPACE/NAME, which '${oneLine(written)}' is not`,
    )
  const { readObject } = await import('../../input/live/index.ts')
  const place = { namespace: given, name }
  const { server, namespace, value } = await readObject(
    mcpExternalAuthConfig,
    { kubeconfig, group },
    place,
    environment,
  ).catch((error: unknown) => {
    throw new UnreadConfiguration({ ...IN_CLUSTER, message: errorMessage(error) })
  })
  const type = typeOf(value)
  if (type === 'awsSts')
    return {
      value,
      namespace,
      name,
      callerTokens: await callerTokensInCluster(
        { namespace, name },
        { kubeconfig, group, release },
        environment,
      ),
    }
  throw new UsageError(
    value === undefined
      ? `there is no MCPExternalAuthConfig '${name}' in namespace '${namespace}' of ${server}`
      : `MCPExternalAuthConfig ${namespace}/${name} is not of the type awsSts`,
  )
}

/**
 * Facts about the tokens of callers, from the objects in the cluster that use the MCPExternalAuthConfig; unknown when
 * some objects cannot be read.
 */
async function callerTokensInCluster(
  { namespace, name }: NameInNamespace,
  { release, ...choice }: ClusterChoice & Pick<OneCaller, 'release'>,
  environment: Environment,
): Promise<CallerTokens> {
  const { readCluster } = await import('../../input/live/index.ts')
  const live = await readCluster({ ...choice, namespaces: () => [namespace] }, environment)
  printLines(
    unreadOf(live).map((each) => ({
      ...each,
      message: `${each.message}; the objects beside the configuration do not count`,
    })),
  )
  return live.unread.length > 0
    ? UNKNOWN_TOKENS
    : callerTokensOf(name, stateOfCluster(live, choice.group).in(namespace, gatewayRelease(release)))
}

/** The decision about the role for each range of operator releases (`Generation`). */
async function outcomesFor(
  value: unknown,
  claims: ReadClaims['claims'],
  generations: readonly Generation[],
): Promise<ReleaseDecision[]> {
  const matchers = matchersOf(value)
  const versions = [...new Set(generations.map(({ celGo }) => celGo))]
  const found = new Map(
    await Promise.all(
      versions.map(async (celGo) => [celGo, await evaluations(matchers, claims, celGo)] as const),
    ),
  )
  return decideForReleases(
    value,
    claims,
    generations,
    ({ celGo }) =>
      (matcher) =>
        found.get(celGo)?.get(matcher),
  )
}
