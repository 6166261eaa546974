import {
  choice,
  type Environment,
  type Flag,
  toggle,
  UsageError,
  type Values,
} from '../../configuration/flags.ts'
import {
  chosenProfile,
  chosenSettings,
  CONFIGURATION_FLAG,
  IGNORES_FLAG,
  JUDGING_FLAGS,
} from '../../configuration/judging.ts'
import { configMapReferencesOf } from '../../relations/index.ts'
import type { LeftOut, Probed, Target } from '../../probe/index.ts'
import { type DocumentReading } from '../../documents/index.ts'
import type { Judge } from '../../engine/index.ts'
import { judgeIn } from '../judge-in.ts'
import { withoutUserInfo } from '../../rule/index.ts'
import { defineCommand, type Invocation, OF_FINDINGS } from '../define-command.ts'
import { CLUSTER_FLAGS, LIVE_FLAGS, needCluster } from '../input/cluster-flags.ts'
import { addNotJudged, Exemptions } from './exemptions.ts'
import { openConfiguration } from '../input/configuration.ts'
import { readDocuments } from '../input/documents.ts'
import type { Documents } from '../input/texts.ts'
import { printEmpty, printNotes, printUnread, READING_FLAGS, readOptions } from '../input/reading.ts'
import { openCluster, openReading } from '../input/world.ts'
import { unreadOf } from '../input/given-state.ts'
import { CHECK_REPORT_FLAGS, printReport } from '../output/formats.ts'
import { emptyNamespaceNotes, missingKindNotes } from '../output/missing-crds.ts'
import { progressOn } from '../output/progress.ts'
import { addVerdict, counted, EXIT, exitCode, openReport, type Report } from '../output/report.ts'
import { visible } from '../output/visible.ts'
import {
  type ConfigMapTexts,
  configMapTexts,
  type ProbeSource,
  sourcesIn,
  sourcesOf,
} from './probe/sources.ts'

const seconds = (help: string, fallback: number): Flag<number> => ({
  help,
  argument: 'SECONDS',
  fallback,
  read: (written) => {
    if (!/^[1-9]\d{0,2}$/.test(written))
      throw new Error(`'${written}' is not a number of seconds from 1 to 999`)
    return Number(written)
  },
})

const requests: Flag<number> = {
  help: 'send at most so many requests; what is not asked is a note',
  argument: 'NUMBER',
  fallback: 1_000,
  read: (written) => {
    if (!/^[1-9]\d{0,5}$/.test(written)) throw new Error(`'${written}' is not a number from 1 to 999999`)
    return Number(written)
  },
}

const FLAGS = {
  yes: toggle('ask other hosts without a question first, as in CI; hosts on this machine are always asked'),
  list: toggle('print the addresses that would be asked, and ask none'),
  timeout: seconds('wait this long for each answer', 10),
  'max-requests': requests,
  deadline: seconds('ask no longer than this in all; what is not asked is a note', 300),
  addresses: choice(
    'which addresses may be asked: public refuses those of this machine and of private networks; the default is public where CI is true, else anywhere',
    ['anywhere', 'public'],
    undefined,
  ),
  ...CHECK_REPORT_FLAGS,
  ...READING_FLAGS,
  ...CONFIGURATION_FLAG,
  ...IGNORES_FLAG,
  ...JUDGING_FLAGS,
  ...CLUSTER_FLAGS,
  cluster: toggle('ask what the resources in a cluster name, in place of files'),
  namespaces: LIVE_FLAGS.namespaces,
}

export const probe = defineCommand({
  name: 'probe',
  summary: 'ask the issuers and endpoints that these files name whether they agree',
  arguments: [
    ['[flags] FILE|DIRECTORY|- ...'],
    ['--cluster', 'ask those that the resources in a cluster name'],
  ],
  flags: FLAGS,
  examples: ['--yes deploy/'],
  exitCodes: OF_FINDINGS,
  run: askAddresses,
})

async function askAddresses({ flags, names, args, environment }: Invocation<typeof FLAGS>): Promise<number> {
  needCluster(flags.cluster, args, ['kubeconfig', 'namespaces'])
  if (flags.cluster && names.length > 0)
    throw new UsageError(
      `--cluster asks what the cluster has, and reads no files: write probe --cluster, or probe ${names.join(' ')}`,
    )
  if (!flags.cluster && names.length === 0)
    throw new UsageError('name the files or folders whose addresses to ask, or --cluster alone')
  const configuration = await openConfiguration(flags['config-file'], names)
  const now = Date.now()
  const settings = chosenSettings(flags, configuration, now)
  const profile = chosenProfile(flags, configuration)
  const reading = openReading(flags, configuration)
  const read = flags.cluster
    ? await readFromCluster(flags, reading, environment)
    : await readFromFiles(names, flags, reading, environment)
  const judge = judgeIn({ group: reading.group, settings }, 'no cluster')
  const sources = read.sources.filter(({ subject }) => !judge.leavesOut(subject.namespace))
  const exemptions = new Exemptions(configuration, now)
  for (const { subject } of read.sources) if (judge.leavesOut(subject.namespace)) exemptions.leftOut(subject)
  addNotJudged(read, exemptions.notJudged, flags['fail-on-not-judged'])
  printUnread(read.unread)
  const engine = await import('../../probe/index.ts')
  const { Consent, placeText } = await import('./probe/consent.ts')
  const named = engine.targetsOf(sources)
  const isPublicOnly = (flags.addresses ?? (environment.CI === 'true' ? 'public' : 'anywhere')) === 'public'
  const targets: Target[] = []
  const leftOut: LeftOut[] = [...named.leftOut]
  for (const target of named.targets) {
    const why =
      engine.whyNotAsked(target.url, target.connecting) ??
      (isPublicOnly && engine.isPrivate(new URL(target.url)) ? engine.IS_PRIVATE : undefined)
    if (why === undefined) targets.push(target)
    else leftOut.push({ ...target, why })
  }
  if (flags.list) {
    printNotes(read.notes)
    const lines = [
      ...targets.map((target) => `${withoutUserInfo(target.url)}  ${placeText(target)}`),
      ...leftOut.map((each) => `${withoutUserInfo(each.url)}  ${placeText(each)}: not asked: ${each.why}`),
    ]
    if (lines.length === 0) lines.push('no address is named')
    process.stdout.write(lines.map((line) => `${visible(line)}\n`).join(''))
    return read.unread.length > 0 ? EXIT.unread : EXIT.clean
  }
  const consent = new Consent(flags.yes)
  if (!(await consent.forTargets(targets))) throw new UsageError('nothing was asked')
  const progress = progressOn(process.stderr, flags.quiet)
  progress.tell(() => `asking ${counted(targets.length, 'address')}`)
  const probed = await engine.probe(targets, {
    timeoutMs: flags.timeout * 1_000,
    mostRequests: flags['max-requests'],
    deadlineMs: flags.deadline * 1_000,
    isPublicOnly,
    bundle: ({ subject, connecting: { bundle } }) =>
      bundle && read.configMaps(subject.namespace, bundle.name, bundle.key),
    mayAsk: (host) => consent.forHost(host),
  })
  progress.end()
  // Names only exemptions that have expired, because no object is recorded as judged: no rule runs here.
  const notes = [...read.notes, ...exemptions.notes('some files')]
  const report = reportOf({ ...read, sources, notes }, { probed, leftOut }, judge)
  const scope = `${read.scope}, ${counted(probed.sent, 'request')} sent`
  await printReport(report, { ...flags, profile }, { scope, names, read }, environment)
  return exitCode(report)
}

/** The resources whose addresses are probed, and the objects that were not judged or could not be read. */
interface Read extends Pick<Report, 'files' | 'unread' | 'others' | 'notJudged' | 'notes'> {
  readonly sources: readonly ProbeSource[]
  readonly configMaps: ConfigMapTexts
  readonly texts: Documents['texts']
  readonly documents: Documents['documents']
  readonly scope: string
}

type Flags = Values<typeof FLAGS>

async function readFromFiles(
  names: readonly string[],
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<Read> {
  const documents = await readDocuments(names, readOptions(flags, environment))
  const sources = sourcesIn(documents, reading)
  const { files, texts, unread, notJudged } = documents
  return {
    files,
    notes: [],
    notJudged: [...notJudged],
    texts,
    documents: documents.documents,
    sources,
    unread: [...unread, ...printEmpty([documents])],
    others: documents.documents.length - sources.length,
    configMaps: configMapTexts(
      documents.documents.map(({ document }) => document.value),
      reading,
    ),
    scope: counted(files.length, 'file'),
  }
}

async function readFromCluster(
  flags: Flags,
  reading: DocumentReading,
  environment: Environment,
): Promise<Read> {
  const { readConfigMaps } = await import('../input/live/index.ts')
  const { group } = reading
  const live = await openCluster(flags, { group }, environment)
  const references = live.objects.flatMap(({ namespace, value }) =>
    configMapReferencesOf(value)
      .filter(({ isBundle }) => isBundle)
      .map(({ name }) => ({ namespace, name })),
  )
  const configMaps =
    live.server === ''
      ? []
      : await readConfigMaps({ kubeconfig: flags.kubeconfig, group }, references, environment)
  return {
    files: [],
    notes: [...missingKindNotes(live.absent, group), ...emptyNamespaceNotes(live.doubtful)],
    notJudged: [],
    texts: new Map(),
    documents: [],
    sources: sourcesOf(live, reading.group),
    unread: unreadOf(live),
    others: 0,
    configMaps: configMapTexts(configMaps, reading),
    scope: live.server || 'the cluster',
  }
}

/** Makes a report of the findings of a probe, with the severities and exemptions in the settings of the judge. */
function reportOf(
  { files, notes: general, unread, notJudged, others, sources }: Read,
  { probed, leftOut }: { readonly probed: Probed; readonly leftOut: readonly LeftOut[] },
  judge: Judge,
): Report {
  const report = openReport({ files, notes: [...general], others, notJudged, unread })
  for (const { subject, value, file, places, ignores } of sources) {
    const isHere = ({ subject: of }: Pick<Target, 'subject'>) => of === subject
    const findings = probed.findings.filter(({ target }) => isHere(target)).map(({ finding }) => finding)
    report.judged.push({ file, ...subject })
    addVerdict(report, judge.weigh(findings, { ...subject, object: value, ignores }), subject, places)
    const notes = [
      ...probed.notes.filter(({ target }) => isHere(target)).map(({ target, text }) => ({ ...target, text })),
      ...leftOut
        .filter(isHere)
        .map((each) => ({ ...each, text: `${withoutUserInfo(each.url)} is not asked: ${each.why}` })),
    ]
    for (const { at, text } of notes) {
      const message = file === null ? `${subject.kind} ${subject.namespace}/${subject.name}: ${text}` : text
      report.notes.push({ ...places.part(at, 'value'), message })
    }
  }
  return report
}
