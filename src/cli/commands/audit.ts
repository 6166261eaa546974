import { UsageError } from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, IGNORES_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { plansOf } from '../../access/effective-authentication.ts'
import { configMapReferencesOf, policiesOf, secretReferencesOf } from '../../relations/index.ts'
import { judgeIn } from '../judge-in.ts'
import { idleIgnores, isLeftOut, readVersion, type Settings } from '../../engine/index.ts'
import type { Release } from '../../release/index.ts'
import { defineCommand, type Invocation, OF_FINDINGS } from '../define-command.ts'
import { openCluster, openWorld } from '../input/world.ts'
import { missingKindNotes, emptyNamespaceNotes, unreadDefinitionNotes } from '../output/missing-crds.ts'
import { LIVE_FLAGS } from '../input/cluster-flags.ts'
import { addNotJudged, Exemptions } from './exemptions.ts'
import { stateOfCluster, unreadOf } from '../input/given-state.ts'
import type { LiveCluster, LiveObject, NameInNamespace } from '../input/live/index.ts'
import { asksCluster, installedRelease, RELEASE_FLAGS } from '../input/release.ts'
import { printUnread, READING_FLAGS } from '../input/reading.ts'
import { progressOn } from '../output/progress.ts'
import { AUDIT_REPORT_FLAGS, printReport } from '../output/formats.ts'
import { addVerdict, exitCode, IN_CLUSTER, openReport, type Report } from '../output/report.ts'

const FLAGS = {
  ...AUDIT_REPORT_FLAGS,
  ...LIVE_FLAGS,
  'fail-on-not-judged': READING_FLAGS['fail-on-not-judged'],
  ...CONFIGURATION_FLAG,
  ...IGNORES_FLAG,
  ...JUDGING_FLAGS,
  ...RELEASE_FLAGS,
}

export const audit = defineCommand({
  name: 'audit',
  summary: 'judge the resources that are in a cluster',
  arguments: [['[flags]']],
  flags: FLAGS,
  examples: ['--namespaces tools,shop'],
  exitCodes: OF_FINDINGS,
  run: judgeCluster,
})

async function judgeCluster({ flags, names, environment }: Invocation<typeof FLAGS>): Promise<number> {
  if (names.length > 0)
    throw new UsageError('audit judges what is in the cluster and takes no files; check --cluster does')
  const { namespaces, 'api-group': group } = flags
  const world = await openWorld(flags, [])
  const exemptions = new Exemptions(world.configuration, world.now)
  const progress = progressOn(process.stderr, flags.quiet)
  progress.tell(() => 'reading the cluster')
  const live = await openCluster(
    flags,
    {
      group,
      definitions: asksCluster(flags),
      ...(flags['check-secrets'] ? { secrets: namedBy(secretReferencesOf) } : {}),
      configMaps: namedBy(configMapReferencesOf),
      policies: (objects, _, kind) => namedBy(policiesOf(kind))(objects).map(({ namespace }) => namespace),
    },
    environment,
  )
  const release = installedRelease(live.definitions, group) ?? world.release
  const report = judgeAll(live, { ...world, release, exemptions })
  const isWhole = namespaces.length === 0 && report.unread.length === 0
  report.notes.push(...exemptions.notes(isWhole ? 'cluster' : 'part of a cluster'))
  addNotJudged(report, exemptions.notJudged, flags['fail-on-not-judged'])
  progress.end()
  printUnread(report.unread)
  await printReport(
    report,
    { ...flags, profile: world.profile },
    {
      scope: scopeOf(live, namespaces),
      plans: () =>
        plansOf(
          stateOfCluster(live, group),
          (namespace) => !isLeftOut(world.settings, namespace),
          readVersion(release),
        ),
    },
    environment,
  )
  return exitCode(report)
}

/** Returns a function that lists the Secrets, ConfigMaps, MCPAuthzConfigs or MCPToolConfigs to which objects refer. */
const namedBy =
  (referencesOf: (resource: { readonly spec?: unknown }) => readonly { readonly name: string }[]) =>
  (objects: readonly LiveObject[]): NameInNamespace[] =>
    objects.flatMap(({ namespace, value }) => referencesOf(value).map(({ name }) => ({ namespace, name })))

interface Judging {
  readonly group: string
  readonly settings: Settings
  readonly exemptions: Exemptions
  /** The operator release whose CRDs the cluster has, or else the release in the flags or the configuration file. */
  readonly release: Release | undefined
}

function judgeAll(live: LiveCluster, { group, settings, exemptions, release }: Judging): Report {
  const report = openReport({
    notes: [
      ...missingKindNotes(live.absent, group),
      ...unreadDefinitionNotes(live, release),
      ...emptyNamespaceNotes(live.doubtful),
    ],
    unread: unreadOf(live),
  })
  const state = stateOfCluster(live, group)
  const judge = judgeIn({ group, settings, release }, state)
  for (const { kind, namespace, name, value } of live.objects) {
    const subject = { kind: kind.kind, namespace, name }
    if (judge.leavesOut(namespace)) {
      exemptions.leftOut(subject)
      continue
    }
    report.judged.push({ file: null, ...subject })
    const outcome = judge.stored({ kind, namespace, name, object: value })
    for (const id of idleIgnores(value, group, outcome)) {
      const message = `${kind.kind} ${namespace}/${name}: the annotation ignores '${id}', which is not found: remove the line`
      report.notes.push({ ...IN_CLUSTER, message })
    }
    exemptions.judged(subject, outcome.ignored)
    addVerdict(report, outcome, subject)
  }
  return report
}

function scopeOf({ server }: LiveCluster, namespaces: readonly string[]): string {
  const whole = server === '' ? 'the cluster' : server
  if (namespaces.length === 0) return whole
  return `${namespaces.length === 1 ? 'namespace' : 'namespaces'} ${namespaces.join(', ')} of ${whole}`
}
