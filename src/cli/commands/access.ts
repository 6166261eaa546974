import {
  differenceOf,
  entryOf,
  outcomesFor,
  type Pair,
  pairsOf,
  type PartDifference,
} from '../../access/difference/states.ts'
import { ALL_COMPARISONS, COMPARISON } from '../../access/difference/compare.ts'
import { Budget } from '../../rule/index.ts'
import { whoGets } from '../../access/difference/who.ts'
import { type Generation } from '../../kinds/mcp-external-auth-config/generations.ts'
import { generationsOf } from '../../access/role/releases.ts'
import { type Environment, UsageError } from '../../configuration/flags.ts'
import { defineCommand, type Invocation, type CommandResult, print, UNREAD } from '../define-command.ts'
import { isWritten, needCluster } from '../input/cluster-flags.ts'
import { openConfiguration } from '../input/configuration.ts'
import { openReading } from '../input/world.ts'
import type { DocumentReading } from '../../documents/index.ts'
import { printUnread } from '../input/reading.ts'
import {
  accessFindings,
  accessJson,
  accessMarkdown,
  accessPage,
  callersJson,
  callersText,
  type AccessReport,
  type Denied,
} from '../output/access.ts'
import { EXIT } from '../output/report.ts'
import { sarifLog } from '../output/sarif.ts'
import { whoJson, whoMarkdown, whoPage, type WhoReport } from '../output/who.ts'
import { ACCESS_FLAGS, fits, type Flags, withRelease } from './access/flags.ts'
import { oneState, overCluster, type States, twoStates } from './access/states.ts'
import { roleOf } from './role/one-caller.ts'
import { claimsBeside, loadClaims } from './role/load-claims.ts'
import { UnreadConfiguration } from './role/config.ts'

export const access = defineCommand({
  name: 'access',
  summary: 'print who gets which role differently, with an example of each caller',
  arguments: [
    ['[flags] OLD NEW'],
    ['--cluster FILE|DIRECTORY ...', 'print the same for what the files would change in a cluster'],
    ['--who PATTERN FILE|DIRECTORY ...', 'print who gets such a role in one state, or that nobody can'],
    ['--config FILE --claims FILE|-', 'print which IAM role one caller gets, and why'],
    ['--cluster --config NAME --claims FILE|-', 'print the same for a configuration in a cluster'],
  ],
  flags: ACCESS_FLAGS,
  examples: ['git:main deploy/'],
  exitCodes: {
    0: 'done',
    1: 'somebody newly gets what --deny-new denies, or the one caller no role',
    3: UNREAD,
  },
  run: async (invocation) => print(await accessOf(invocation), invocation.flags.output),
})

type Output = Flags['output']

/** Returns a function that checks the output format: it throws UsageError for a format that is not in `formats`. */
const oneOf =
  <Some extends Output>(formats: readonly Some[], problem: string) =>
  (output: Output): Some => {
    const chosen = formats.find((format) => format === output)
    if (chosen === undefined) throw new UsageError(problem)
    return chosen
  }

export async function accessOf({
  flags: given,
  names: positionals,
  args,
  environment,
}: Invocation<typeof ACCESS_FLAGS>): Promise<CommandResult<Output>> {
  needCluster(given.cluster, args, ['kubeconfig'])
  const files = positionals.length > 0 || given.cluster || given.config === '' ? positionals : [given.config]
  const { flags, reading } = await openAccess(given, given.cluster ? files : files.slice(-1))
  // `flags.config` may come from VMCP_CONFIG, which may be meant for the command `role`: when files are given, only the
  // argument --config counts.
  if (flags.config !== '' && (positionals.length === 0 || isWritten('config', args)))
    return forOne(positionals, flags, reading, environment)
  if (flags['deny-new'].length > 0 && flags.claims.length > 0)
    throw new UsageError('--deny-new is about all callers: leave --claims out')
  if (flags.who.length > 0) return forRoles(positionals, flags, reading, environment)
  const states = flags.cluster
    ? await overCluster(positionals, flags, reading, environment)
    : await twoStates(positionals, flags, reading, environment)
  printUnread(states.unread)
  const pairs = pairsOf(states.old, states.new)
  const generations = generationsOf(flags.release)
  const { code, text } =
    flags.claims.length > 0
      ? await forCallers(states, pairs, generations, flags)
      : forAll(states, pairs, generations, flags)
  return { code: states.unread.length > 0 ? EXIT.unread : code, text }
}

/** The flags, with `release` from the configuration file if no flag sets it, and the settings for reading documents. */
export async function openAccess(
  given: Flags,
  files: readonly string[],
): Promise<{ readonly flags: Flags; readonly reading: DocumentReading }> {
  const configuration = await openConfiguration(given['config-file'], files)
  return { flags: withRelease(given, configuration), reading: openReading(given, configuration) }
}

/** Determines the role that one MCPExternalAuthConfig grants one caller. */
async function forOne(
  names: readonly string[],
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<CommandResult<Output>> {
  const { claims, who } = flags
  const [caller, ...others] = claims
  if (caller === undefined || others.length + names.length + who.length + flags['deny-new'].length > 0)
    throw new UsageError('name a configuration and claims: access --config FILE --claims FILE|-')
  const formatOf = oneOf(['human', 'json'], '--config prints human or json')
  formatOf(flags.output)
  const { code, text } = await roleOf(flags, claimsBeside(flags.config, caller), reading, environment)
  return { code, text: (output) => text(formatOf(output)) }
}

/** Determines which callers get the roles that `--who` names, in one set of resources. */
async function forRoles(
  names: readonly string[],
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<CommandResult<Output>> {
  const { who, cluster, claims, release } = flags
  if (cluster || claims.length > 0 || flags['deny-new'].length > 0)
    throw new UsageError('--who reads one state, without --cluster, --claims and --deny-new')
  const formatOf = oneOf(['human', 'markdown', 'json'], '--who prints human, markdown or json')
  formatOf(flags.output)
  const { entries, unread } = await oneState(names, flags, reading, environment)
  printUnread(unread)
  const generations = generationsOf(release)
  const isAsked = fits(who)
  const budget = new Budget(ALL_COMPARISONS)
  const report: WhoReport = {
    asked: who,
    read: entries.length,
    parts: entries.map((entry) => ({ entry, grants: whoGets(entry, isAsked, generations, budget) })),
    unread,
  }
  const printers = { human: whoPage, markdown: whoMarkdown, json: whoJson }
  return {
    code: unread.length > 0 ? EXIT.unread : EXIT.clean,
    text: (output) => printers[formatOf(output)](report),
  }
}

function forAll(
  states: States,
  pairs: readonly Pair[],
  generations: readonly Generation[],
  flags: Flags,
): CommandResult<Output> {
  const budget = new Budget(ALL_COMPARISONS)
  const differences = pairs.map((pair) => differenceOf(pair, generations, budget))
  const denied = deniedIn(differences, flags['deny-new'])
  const report: AccessReport = { compared: pairs.length, differences, denied, unread: states.unread }
  return {
    code: denied.length > 0 ? EXIT.findings : EXIT.clean,
    text: (output) => textOf(report, states, output),
  }
}

function textOf(report: AccessReport, states: States, output: Output): string {
  switch (output) {
    case 'human':
      return accessPage(report)
    case 'markdown':
      return accessMarkdown(report)
    case 'json':
      return accessJson(report)
    case 'sarif':
      return sarifLog({
        findings: accessFindings(report, (entry) => states.placeOf(entry)),
        unread: report.unread,
        notJudged: states.notJudged,
        notes: states.notes,
      })
  }
}

async function forCallers(
  states: States,
  pairs: readonly Pair[],
  generations: readonly Generation[],
  { claims, output: wanted }: Flags,
): Promise<CommandResult<Output>> {
  const formatOf = oneOf(['human', 'json'], '--claims prints human or json')
  formatOf(wanted)
  try {
    const callers: { readonly file: string; readonly outcomes: ReturnType<typeof outcomesFor> }[] = []
    const budget = new Budget(ALL_COMPARISONS)
    for (const file of claims) {
      const read = await loadClaims(file)
      const outcomesOf = (pair: Pair) => outcomesFor(pair, read.claims, generations, budget.part(COMPARISON))
      callers.push({ file, outcomes: pairs.flatMap(outcomesOf) })
    }
    const printers = {
      human: () => callersText(callers),
      json: () => callersJson(callers, states.unread),
    }
    return { code: EXIT.clean, text: (output) => printers[formatOf(output)]() }
  } catch (error) {
    if (!(error instanceof UnreadConfiguration)) throw error
    printUnread([error.located])
    return { code: EXIT.unread, text: () => '' }
  }
}

/** The roles and token exchanges that callers gain, or may gain, although `--deny-new` does not allow them. */
function deniedIn(differences: readonly PartDifference[], patterns: readonly string[]): Denied[] {
  const isDenied = fits(patterns)
  const denied = differences.flatMap((difference): Denied[] => {
    const entry = entryOf(difference)
    const gained = difference.changes.flatMap(({ new: { access: name } }) =>
      name === undefined ? [] : [name],
    )
    const open = difference.undecided.filter(({ question }) => question === 'gains')
    // When STS gets the token of another provider than before, callers may get any role: AWS IAM decides, and its
    // policies are not read here.
    const isOther = difference.tokens.length > 0 && patterns.length > 0
    return [
      ...(isOther ? [{ entry, access: '', isProved: false }] : []),
      ...gained.filter(isDenied).map((name) => ({ entry, access: name, isProved: true })),
      ...open
        .filter(({ access: name }) => (name === '' ? patterns.length > 0 : isDenied(name)))
        .map(({ access: name }) => ({ entry, access: name, isProved: false })),
    ]
  })
  return [
    ...Map.groupBy(
      denied,
      ({ entry, access: name }) => `${JSON.stringify(entry.at)} ${entry.name} ${entry.namespace} ${name}`,
    ).values(),
  ].flatMap((same) => same.toSorted((a, b) => Number(b.isProved) - Number(a.isProved)).slice(0, 1))
}
