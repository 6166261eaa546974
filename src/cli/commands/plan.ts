import {
  choice,
  type Environment,
  namespaceNames,
  toggle,
  UsageError,
  type Values,
} from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { virtualMcpServer } from '../../kinds/virtual-mcp-server/index.ts'
import { compare } from '../../access/comparison.ts'
import { type Plan, plansOf } from '../../access/effective-authentication.ts'
import { missingKindNotes, emptyNamespaceNotes } from '../output/missing-crds.ts'
import { defineCommand, type Invocation, UNREAD } from '../define-command.ts'
import { CLUSTER_FLAGS, needCluster } from '../input/cluster-flags.ts'
import { openConfiguration } from '../input/configuration.ts'
import { readDocuments, type ReadOptions } from '../input/documents.ts'
import type { Documents } from '../input/texts.ts'
import {
  type FindPlaceholder,
  placeholderFinder,
  type DocumentReading,
  stateOf,
} from '../../documents/index.ts'
import { stateOfCluster } from '../input/given-state.ts'
import { readOverlay } from '../input/overlay.ts'
import type { LiveCluster } from '../input/live/index.ts'
import { changesMarkdown } from '../output/plan-markdown.ts'
import { changesMermaid, planMermaid } from '../output/plan-mermaid.ts'
import { changesText, planText } from '../output/plan-text.ts'
import { READING_FLAGS, printLines, printEmpty, printUnread, readOptions } from '../input/reading.ts'
import { EXIT, IN_CLUSTER, type Unread } from '../output/report.ts'
import { json, visible } from '../output/visible.ts'

const FLAGS = {
  output: choice('format of the output', ['human', 'json', 'mermaid', 'markdown'], 'human'),
  together: toggle('two files or folders, or files and the cluster, are one plan, not an old and a new one'),
  ...READING_FLAGS,
  'api-group': JUDGING_FLAGS['api-group'],
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
  flags: FLAGS,
  examples: ['deploy/'],
  exitCodes: { 0: 'done', 3: UNREAD },
  run: printPlan,
})

async function printPlan({
  flags: values,
  names: positionals,
  args,
  environment,
}: Invocation<typeof FLAGS>): Promise<number> {
  needCluster(values.cluster, args, ['kubeconfig', 'namespaces'])
  const configuration = await openConfiguration(values['config-file'], positionals.slice(-1))
  const flags = {
    ...values,
    namespace: values.namespace || configuration.defaultNamespace,
    placeholders: placeholderFinder(configuration.placeholders),
  }
  const { text, unread } = flags.cluster
    ? await planCluster(positionals, flags, environment)
    : await planFiles(positionals, flags, environment)
  printUnread(unread)
  process.stdout.write(text)
  return unread.length > 0 ? EXIT.unread : EXIT.clean
}

type Flags = Values<typeof FLAGS> & { readonly placeholders: FindPlaceholder | undefined }

const writesDefaults = ({ defaults }: Flags): boolean => defaults !== 'off'

async function planFiles(names: readonly string[], flags: Flags, environment: Environment): Promise<Printed> {
  if (names.length === 0)
    throw new UsageError('name the files or folders to plan, an old and a new one, or - for standard input')
  const { placeholders } = flags
  const reading = {
    group: flags['api-group'],
    namespace: flags.namespace || 'default',
    strict: false,
    placeholders,
  }
  const options = readOptions(flags, environment)
  const read = (some: readonly string[]) => readPlans(some, flags, options, reading)
  const [old, now] = names
  return names.length === 2 && old !== undefined && now !== undefined && !flags.together
    ? comparePlans(old, now, read, flags.output)
    : planTogether(await read(names), flags.output)
}

function planTogether({ plans, unread, documents }: ReadFiles, output: Output): Printed {
  return formatPlans({ plans, unread: [...unread, ...printEmpty([documents])] }, output)
}

async function planCluster(
  names: readonly string[],
  flags: Flags,
  environment: Environment,
): Promise<Printed> {
  const { kubeconfig, namespaces, namespace, 'api-group': group, output } = flags
  if (names.length === 0) {
    const { readCluster } = await import('../input/live/index.ts')
    const wanted = {
      kubeconfig,
      group,
      namespaces: () => (namespaces.length === 0 ? undefined : namespaces),
      mustExist: true,
    }
    const live = await readCluster(wanted, environment)
    printMissingKinds(live, group)
    return formatPlans(
      { plans: plansOf(stateOfCluster(live, group), writesDefaults(flags)), unread: unreadLines(live) },
      output,
    )
  }
  if (namespaces.length > 0)
    throw new UsageError(
      '--namespaces is for --cluster alone: with files, the namespaces that they name are read',
    )
  const documents = await readDocuments(names, readOptions(flags, environment))
  printLines(documents.notJudged)
  const asked = {
    group,
    namespace,
    kubeconfig,
    secrets: false,
    strict: false,
    placeholders: flags.placeholders,
  }
  const { live, before, after } = await readOverlay(documents, asked, environment)
  printMissingKinds(live, group)
  const unread = [...unreadLines(live), ...documents.unread, ...printEmpty([documents])]
  const plans = plansOf(after, writesDefaults(flags))
  if (flags.together) return formatPlans({ plans, unread }, output)
  // An object of the cluster that was not read would look new.
  const comparable = plans.filter((each) => live.knows('VirtualMCPServer', each.namespace))
  return formatChanges(plansOf(before, writesDefaults(flags)), comparable, unread, output)
}

const unreadLines = ({ unread }: LiveCluster): Unread[] =>
  unread.map((message) => ({ ...IN_CLUSTER, message }))

function printMissingKinds({ absent, doubtful }: LiveCluster, group: string): void {
  const lacking = absent.includes(virtualMcpServer) ? missingKindNotes(absent, group) : []
  for (const { message } of [...lacking, ...emptyNamespaceNotes(doubtful)])
    process.stderr.write(`note: ${visible(message)}\n`)
}

interface Read {
  readonly plans: readonly Plan[]
  readonly unread: readonly Unread[]
}

interface ReadFiles extends Read {
  readonly documents: Documents
}

interface Printed {
  readonly text: string
  readonly unread: readonly Unread[]
}

type Output = 'human' | 'json' | 'mermaid' | 'markdown'

function formatPlans({ plans, unread }: Read, output: Output): Printed {
  if (output === 'markdown')
    throw new UsageError('--output markdown is the comment on a change: name an old and a new state')
  // Without this line, an unread cluster would look empty.
  const hidden = plans.length === 0 && unread.length > 0
  const printers = {
    human: () => (hidden ? '' : planText(plans)),
    mermaid: () => (hidden ? '' : planMermaid(plans)),
    json: () => json({ virtualMCPServers: plans, unread }),
  }
  return { text: printers[output](), unread }
}

async function comparePlans(
  old: string,
  now: string,
  read: (names: readonly string[]) => Promise<ReadFiles>,
  output: Output,
): Promise<Printed> {
  if (old === '-' && now === '-') throw new UsageError('only one of the two can be standard input')
  const [before, after] = [await read([old]), await read([now])]
  const nothing = printEmpty([before.documents, after.documents])
  const unread = [...before.unread, ...after.unread, ...nothing]
  // Two files of one state are easily passed by mistake.
  if ((before.plans.length === 0) !== (after.plans.length === 0)) {
    const empty = before.plans.length === 0 ? old : now
    process.stderr.write(
      `${visible(`no VirtualMCPServer in ${empty}: this compares ${old} with ${now}; --together makes them one plan`)}\n`,
    )
  }
  return formatChanges(before.plans, after.plans, unread, output)
}

function formatChanges(
  before: readonly Plan[],
  after: readonly Plan[],
  unread: readonly Unread[],
  output: Output,
): Printed {
  const changes = compare(before, after)
  const printers = {
    human: () => (changes.length === 0 && unread.length > 0 ? '' : changesText(changes)),
    mermaid: () => changesMermaid(changes),
    markdown: () => changesMarkdown(changes, unread.length),
    json: () => json({ changes, unread }),
  }
  return { text: printers[output](), unread }
}

async function readPlans(
  names: readonly string[],
  flags: Flags,
  options: ReadOptions,
  reading: DocumentReading,
): Promise<ReadFiles> {
  const documents = await readDocuments(names, options)
  printLines(documents.notJudged)
  const state = stateOf(
    documents.documents.map(({ document }) => document.value),
    reading,
  )
  return { plans: plansOf(state, writesDefaults(flags)), unread: documents.unread, documents }
}
