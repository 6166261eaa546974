import {
  choice,
  type Environment,
  namespaceNames,
  toggle,
  UsageError,
  type Values,
} from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { isLeftOut, readVersion } from '../../engine/index.ts'
import { virtualMcpServer } from '../../kinds/virtual-mcp-server/index.ts'
import { compare } from '../../access/comparison.ts'
import type { Release } from '../../release/index.ts'
import { type Plan, plansOf } from '../../access/effective-authentication.ts'
import { openCluster, openFiles, openOverlay, openReading, openTwoStates } from '../input/world.ts'
import { missingKindNotes, emptyNamespaceNotes, unreadDefinitionNotes } from '../output/missing-crds.ts'
import { defineCommand, type Invocation, type CommandResult, print, UNREAD } from '../define-command.ts'
import { CLUSTER_FLAGS, needCluster } from '../input/cluster-flags.ts'
import { openConfiguration } from '../input/configuration.ts'
import type { Documents } from '../input/texts.ts'
import { type DocumentReading, stateOf } from '../../documents/index.ts'
import { stateOfCluster, unreadOf } from '../input/given-state.ts'
import type { LiveCluster } from '../input/live/index.ts'
import { changesMarkdown } from '../output/plan-markdown.ts'
import { changesMermaid, planMermaid } from '../output/plan-mermaid.ts'
import { changesText, planText } from '../output/plan-text.ts'
import { asksCluster, installedRelease, readRelease, RELEASE_FLAGS } from '../input/release.ts'
import { READING_FLAGS, printNotes, printUnread, readOptions } from '../input/reading.ts'
import { EXIT, type Located, type Unread } from '../output/report.ts'
import { json, visible } from '../output/visible.ts'

export const PLAN_FLAGS = {
  output: choice('format of the output', ['human', 'json', 'mermaid', 'markdown'], 'human'),
  together: toggle('two files or folders, or files and the cluster, are one plan, not an old and a new one'),
  ...READING_FLAGS,
  'api-group': JUDGING_FLAGS['api-group'],
  ...RELEASE_FLAGS,
  ...CONFIGURATION_FLAG,
  defaults: choice(
    'as the server has it: with off, no note says what the next write changes, because /mutate writes no provider',
    ['all', 'outside-lists', 'off'],
    'all',
  ),
  ...CLUSTER_FLAGS,
  namespaces: namespaceNames('with --cluster alone: read these namespaces only, separated by commas'),
}

export const plan = defineCommand({
  name: 'plan',
  summary: 'print how clients and vMCP are authenticated',
  arguments: [
    ['[flags] FILE|DIRECTORY|- ...'],
    ['[flags] OLD NEW', 'print what changes between two files or folders'],
    ['--cluster', 'print how clients and vMCP are authenticated in a cluster'],
    ['--cluster FILE|DIRECTORY|- ...', 'print what the files would change in a cluster'],
  ],
  flags: PLAN_FLAGS,
  examples: ['deploy/'],
  exitCodes: { 0: 'done', 3: UNREAD },
  run: async (invocation) => print(await planOf(invocation), invocation.flags.output),
})

export async function planOf({
  flags,
  names: positionals,
  args,
  environment,
}: Invocation<typeof PLAN_FLAGS>): Promise<CommandResult<Output>> {
  needCluster(flags.cluster, args, ['kubeconfig', 'namespaces'])
  const isOldAndNew = !flags.cluster && !flags.together && positionals.length === 2
  const judged = isOldAndNew ? positionals.slice(-1) : positionals
  const configuration = await openConfiguration(flags['config-file'], judged)
  const reading = {
    ...openReading(flags, configuration),
    release: await readRelease(flags, flags['api-group'], configuration),
    writesDefaultsIn: (namespace: string) => flags.defaults !== 'off' && !isLeftOut(configuration, namespace),
  }
  const { text, unread } = flags.cluster
    ? await planCluster(positionals, flags, reading, environment)
    : await planFiles(positionals, flags, reading, environment)
  printUnread(unread)
  return { code: unread.length > 0 ? EXIT.unread : EXIT.clean, text }
}

type Flags = Values<typeof PLAN_FLAGS>

/**
 * Settings for reading documents, and the operator release in the flags or the configuration file. The release that is
 * installed in the cluster takes precedence over the release in the configuration file.
 */
interface Reading extends DocumentReading {
  readonly release: Release | undefined
  /** Whether /mutate writes defaults into objects of the namespace. */
  writesDefaultsIn(namespace: string): boolean
}

async function planFiles(
  names: readonly string[],
  flags: Flags,
  reading: Reading,
  environment: Environment,
): Promise<Printed> {
  if (names.length === 0)
    throw new UsageError('name the files or folders to plan, an old and a new one, or - for standard input')
  const release = readVersion(reading.release)
  const plansIn = ({ documents }: Documents) =>
    plansOf(
      stateOf(
        documents.map(({ document }) => document.value),
        reading,
      ),
      reading.writesDefaultsIn,
      release,
    )
  if (names.length === 2 && !flags.together) {
    const { before, after, unread } = await openTwoStates(names, readOptions(flags, environment))
    return comparePlans(names, { old: plansIn(before), now: plansIn(after), unread })
  }
  const { documents, unread } = await openFiles(names, readOptions(flags, environment))
  return formatPlans({ plans: plansIn(documents), unread })
}

async function planCluster(
  names: readonly string[],
  flags: Flags,
  reading: Reading,
  environment: Environment,
): Promise<Printed> {
  const { namespaces } = flags
  const { group, release: named } = reading
  if (names.length === 0) {
    const live = await openCluster(flags, { group, definitions: asksCluster(flags) }, environment)
    const release = installedRelease(live.definitions, group) ?? named
    printNotes([...clusterNotes(live, group), ...unreadDefinitionNotes(live, release)])
    return formatPlans({
      plans: plansOf(stateOfCluster(live, group), reading.writesDefaultsIn, readVersion(release)),
      unread: unreadOf(live),
    })
  }
  if (namespaces.length > 0)
    throw new UsageError(
      '--namespaces is for --cluster alone: with files, the namespaces that they name are read',
    )
  const { live, before, after, unread, installed } = await openOverlay(
    names,
    readOptions(flags, environment),
    flags,
    reading,
    environment,
  )
  printNotes(clusterNotes(live, group))
  const release = readVersion(installed ?? named)
  const plans = plansOf(after, reading.writesDefaultsIn, release)
  if (flags.together) return formatPlans({ plans, unread })
  // VirtualMCPServers in namespaces that were not read from the cluster are left out, because they would look new.
  const comparable = plans.filter((each) => live.knows('VirtualMCPServer', each.namespace))
  return formatChanges(plansOf(before, reading.writesDefaultsIn, release), comparable, unread)
}

function clusterNotes({ absent, doubtful }: LiveCluster, group: string): Located[] {
  const lacking = absent.includes(virtualMcpServer) ? missingKindNotes(absent, group) : []
  return [...lacking, ...emptyNamespaceNotes(doubtful)]
}

interface Read {
  readonly plans: readonly Plan[]
  readonly unread: readonly Unread[]
}

interface Printed extends Pick<CommandResult<Output>, 'text'> {
  readonly unread: readonly Unread[]
}

type Output = 'human' | 'json' | 'mermaid' | 'markdown'

function formatPlans({ plans, unread }: Read): Printed {
  // Prints nothing when nothing could be read, because an empty plan would look like an empty cluster.
  const hidden = plans.length === 0 && unread.length > 0
  const printers = {
    human: () => (hidden ? '' : planText(plans)),
    mermaid: () => (hidden ? '' : planMermaid(plans)),
    json: () => json({ version: 1, virtualMCPServers: plans, unread }),
    markdown: () => {
      throw new UsageError('--output markdown is the comment on a change: name an old and a new state')
    },
  }
  return { text: (output) => printers[output](), unread }
}

function comparePlans(
  [old = '', now = '']: readonly string[],
  plans: { readonly old: readonly Plan[]; readonly now: readonly Plan[]; readonly unread: readonly Unread[] },
): Printed {
  // Prints a hint when only one state has a VirtualMCPServer: then the files are probably two parts of the same state.
  if ((plans.old.length === 0) !== (plans.now.length === 0)) {
    const empty = plans.old.length === 0 ? old : now
    process.stderr.write(
      `${visible(`no VirtualMCPServer in ${empty}: this compares ${old} with ${now}; --together makes them one plan`)}\n`,
    )
  }
  return formatChanges(plans.old, plans.now, plans.unread)
}

function formatChanges(before: readonly Plan[], after: readonly Plan[], unread: readonly Unread[]): Printed {
  const changes = compare(before, after)
  const printers = {
    human: () => (changes.length === 0 && unread.length > 0 ? '' : changesText(changes)),
    mermaid: () => changesMermaid(changes),
    markdown: () => changesMarkdown(changes, unread.length),
    json: () => json({ version: 1, changes, unread }),
  }
  return { text: (output) => printers[output](), unread }
}
