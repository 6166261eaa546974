import { choice, type Environment, text, toggle, UsageError, type Values } from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { isObject, jsonKey, metadataOf, type Resource } from '../../rule/index.ts'
import type { Release } from '../../release/index.ts'
import {
  holdsPlaceholder,
  kindOf,
  nameOf,
  placeholdersIn,
  type DocumentReading,
  stateOf,
} from '../../documents/index.ts'
import { TOOLS } from '../../steps/commits.ts'
import { planSteps, type Question } from '../../steps/plan.ts'
import { itemsOf } from '../../steps/states.ts'
import { defineCommand, type Invocation, UNREAD } from '../define-command.ts'
import { CLUSTER_FLAGS, needCluster } from '../input/cluster-flags.ts'
import { nameOfPlaceholder } from '../input/fill.ts'
import { leftOutIn } from './exemptions.ts'
import { printLines, printUnread, READING_FLAGS, readOptions, unlessJudged } from '../input/reading.ts'
import { RELEASE_FLAGS } from '../input/release.ts'
import type { Documents } from '../input/texts.ts'
import { readState } from '../input/two-states.ts'
import { openOverlay, openTwoStates, openWorld } from '../input/world.ts'
import { progressOn } from '../output/progress.ts'
import { counted, EXIT, type Unread } from '../output/report.ts'
import { stepsJson, stepsMarkdown, stepsText } from '../output/steps.ts'
import { applySteps } from './steps/apply.ts'
import { needEmptyFolder, writeCommits } from './steps/write.ts'

const FLAGS = {
  tool: choice(
    'the tool that applies the commits; a commit must pass with all of them by default',
    ['all', ...TOOLS],
    'all',
  ),
  write: text('write what each commit applies and deletes into a new folder', 'DIRECTORY', ''),
  apply: toggle('with --cluster: apply the steps one by one with kubectl, after a question'),
  yes: toggle('with --apply: do not ask; a plan that gives something up is not applied then'),
  previous: text(
    'with --cluster: the state before; what the new one does not have of it is deleted',
    'OLD',
    '',
  ),
  output: choice('format of the output', ['human', 'markdown', 'json'], 'human'),
  ...READING_FLAGS,
  ...JUDGING_FLAGS,
  ...CONFIGURATION_FLAG,
  defaults: choice(
    'which defaults /mutate writes, as the server has it',
    ['all', 'outside-lists', 'off'],
    'all',
  ),
  ...CLUSTER_FLAGS,
  ...RELEASE_FLAGS,
}

type Flags = Values<typeof FLAGS>

export const steps = defineCommand({
  name: 'steps',
  summary: 'print in which steps a change passes the webhook, and nobody loses or gains access',
  arguments: [
    ['[flags] OLD NEW'],
    ['--cluster FILE|DIRECTORY ...', 'print the same for a change of a cluster; --apply carries it out'],
  ],
  flags: FLAGS,
  examples: ['git:main deploy/'],
  exitCodes: {
    0: 'there is an order, and with --apply it is applied',
    1: 'there is none without harm, the new state contradicts itself, or a step failed',
    3: UNREAD,
  },
  run: printSteps,
})

async function printSteps({
  flags,
  names: positionals,
  args,
  environment,
}: Invocation<typeof FLAGS>): Promise<number> {
  needCluster(flags.cluster, args, ['kubeconfig', 'previous', 'apply'])
  // VMCP_YES may be set for other commands: only the argument --yes answers the question that --apply asks.
  const yes = args.some((arg) => /^--yes(?:=true)?$/.test(arg))
  // VMCP_APPLY may be set for other runs: without --cluster there is nothing to which the steps could be applied.
  const apply = flags.apply && flags.cluster
  if (yes && !apply) throw new UsageError('--yes needs --apply')
  if (flags.write !== '') needEmptyFolder(flags.write)
  const world = await openWorld(flags, flags.cluster ? positionals : positionals.slice(-1))
  const { settings, configuration } = world
  const states = flags.cluster
    ? await overCluster(positionals, flags, world, environment)
    : await twoStates(positionals, flags, world, environment)
  const leftOut = states.documents.flatMap((each) =>
    leftOutIn(each, states.question.reading, settings, configuration),
  )
  states.unread.push(...unlessJudged(leftOut, flags))
  if (apply)
    states.unread.push(...states.documents.flatMap((each) => unfilled(each, states.question.reading)))
  printUnread(states.unread)
  if (states.unread.length > 0) return EXIT.unread
  const progress = progressOn(process.stderr, false)
  const plan = planSteps({
    ...states.question,
    settings,
    release: states.installed ?? world.release,
    defaults: flags.defaults,
    tools: flags.tool === 'all' ? TOOLS : [flags.tool],
    tell: (count) => progress.tell(() => `looking for an order: ${counted(count, 'state')} judged`),
  })
  progress.end()
  process.stdout.write(PRINTERS[flags.output](plan))
  if (flags.write !== '') writeCommits(plan, flags.write)
  if (apply) return applySteps(plan, { kubeconfig: flags.kubeconfig, yes }, environment)
  return plan.outcome === 'order' || plan.outcome === 'nothing' ? EXIT.clean : EXIT.findings
}

const PRINTERS = { human: stepsText, markdown: stepsMarkdown, json: stepsJson } as const

interface States {
  readonly question: Omit<Question, 'settings' | 'defaults' | 'tools' | 'release'>
  /** The operator release that is installed in the cluster; undefined when no cluster is read. */
  readonly installed?: Release | undefined
  readonly documents: readonly Documents[]
  readonly unread: Unread[]
}

/** An error for each document without `metadata.name`, because applying it twice would create two objects. */
const nameless = ({ documents }: Documents, reading: DocumentReading): Unread[] =>
  documents
    .filter(({ document: { value } }) => kindOf(value, reading) && nameOf(value as Resource) === '')
    .map(({ file, document }) => ({
      ...{ file, ...document.locate(['metadata'], 'key') },
      message: 'the object has no metadata.name: write one, so that its old and new version can be compared',
    }))

/** An error for each document with a placeholder that is not filled in: `--apply` would store it as it is. */
const unfilled = ({ documents }: Documents, reading: DocumentReading): Unread[] =>
  documents.flatMap(({ file, document }) => {
    const { value } = document
    const kind = kindOf(value, reading)
    if (kind === undefined || !isObject(value)) return []
    const [first] = placeholdersIn(kind, value, reading.placeholders)
    const isInMetadata = holdsPlaceholder(JSON.stringify(metadataOf(value)), reading.placeholders)
    if (first === undefined && !isInMetadata) return []
    const { at = ['metadata'], text } = first ?? {}
    const what = text === undefined ? 'a placeholder' : `the placeholder ${text}`
    const name = text === undefined ? 'NAME' : nameOfPlaceholder(text)
    const how = name === undefined ? 'write its value there' : `fill it in with --set ${name}=VALUE`
    const message = `${what} is not filled in, and --apply would store it: ${how}`
    return [{ file, ...document.locate(at.map(jsonKey), 'value'), message }]
  })

const valuesOf = ({ documents }: Documents): unknown[] => documents.map(({ document }) => document.value)

async function twoStates(
  names: readonly string[],
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<States> {
  const { before, after, unread } = await openTwoStates(names, readOptions(flags, environment))
  const [oldValues, newValues] = [valuesOf(before), valuesOf(after)]
  return {
    question: {
      reading,
      old: itemsOf(oldValues, reading),
      new: itemsOf(newValues, reading),
      state: stateOf([...oldValues, ...newValues], reading),
      isStored: false,
      isDeleted: () => true,
    },
    documents: [before, after],
    unread: [...unread, ...[before, after].flatMap((each) => nameless(each, reading))],
  }
}

async function overCluster(
  names: readonly string[],
  flags: Flags,
  given: DocumentReading,
  environment: Environment,
): Promise<States> {
  if (names.length === 0)
    throw new UsageError('name the files or folders of the new state: steps --cluster FILE|DIRECTORY')
  const options = readOptions(flags, environment)
  const previous = flags.previous === '' ? undefined : await readState(flags.previous, names, options)
  printLines(previous?.notJudged ?? [])
  const previousValues = previous === undefined ? [] : valuesOf(previous)
  const { documents, live, installed, unread, reading, after } = await openOverlay(
    names,
    options,
    flags,
    given,
    environment,
    previousValues,
  )
  const stored = live.objects.map(({ value }) => value)
  const gone = itemsOf(previousValues, reading)
  return {
    question: {
      reading,
      old: itemsOf(stored, reading),
      new: itemsOf(valuesOf(documents), reading),
      state: after,
      isStored: true,
      isDeleted: (key) => gone.has(key),
    },
    installed,
    documents: [documents],
    unread: [
      ...unread,
      ...nameless(documents, reading),
      ...(previous === undefined ? [] : [...previous.unread, ...nameless(previous, reading)]),
    ],
  }
}
