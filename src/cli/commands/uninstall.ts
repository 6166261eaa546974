import { managerOf } from '../../arming/reconcile.ts'
import { describeServing, isTemporary, removeDefinitions } from '../../arming/temporary.ts'
import { toggle, UsageError } from '../../configuration/flags.ts'
import { DEFAULT_API_GROUP } from '../../kinds/index.ts'
import { LEADER_NAME, probeAnnotation, REPORTS_LEASE, WEBHOOK_NAME } from '../../registration/index.ts'
import { defineCommand, type Invocation } from '../define-command.ts'
import { INSTALLATION_FLAGS } from '../input/cluster-flags.ts'
import { part } from './doctor/findings.ts'
import { CA_SECRET, CONFIGURATIONS, setupsOf } from './doctor/setup.ts'
import type { Opened } from '../input/live/index.ts'
import { EXIT } from '../output/report.ts'
import { visible } from '../output/visible.ts'
import { errorMessage } from '../../rule/index.ts'

const FLAGS = {
  all: toggle(`remove the Leases and the Secret ${CA_SECRET} too`),
  'dry-run': toggle('print what would be removed, and remove nothing'),
  force: toggle(
    'remove also while a server runs that would write them again, or what another installation manages',
  ),
  ...INSTALLATION_FLAGS,
}

/** An object to remove. */
interface Target {
  /** Kind and name. */
  readonly object: string
  /** Whether the cluster has the object. */
  exists(): Promise<boolean>
  /** Deletes the object; false when the cluster did not have it. */
  remove(): Promise<boolean>
}

export const uninstall = defineCommand({
  name: 'uninstall',
  summary: 'remove the webhook configurations from a cluster',
  arguments: [['[flags]']],
  flags: FLAGS,
  examples: ['--all'],
  exitCodes: {
    0: 'removed, or nothing was there',
    1: 'a server runs that would write them again, or they are of another installation',
    3: 'something could not be removed',
  },
  run: removeInstallation,
})

async function removeInstallation({ flags, names, environment }: Invocation<typeof FLAGS>): Promise<number> {
  if (names.length > 0) throw new UsageError('uninstall takes no files; --namespace names the installation')
  const { kubeconfig, namespace, all, force, 'dry-run': dryRun } = flags
  const { openInstallation } = await import('../input/live/index.ts')
  const failures: string[] = []
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      failures.push(what)
      printError(`${what}: ${errorMessage(error)}`)
      return undefined
    }
  }
  const open = (place: string) =>
    openInstallation({ kubeconfig, group: DEFAULT_API_GROUP }, place, environment)
  const opened = await attempt('no cluster', () => open(namespace))
  if (opened === undefined) return EXIT.unread
  try {
    const reasons = await attempt('cannot see whether a server runs', () =>
      findObstacles(opened, namespace, open),
    )
    for (const reason of reasons ?? []) printError(`warning: ${reason}`)
    const isFree = reasons?.length === 0
    if (!isFree && !force && !dryRun) {
      printError('nothing was removed; --force removes anyway')
      return failures.length > 0 ? EXIT.unread : EXIT.findings
    }
    const done: string[] = []
    for (const { object, exists, remove } of findTargets(opened, namespace, all)) {
      const act = dryRun ? exists : remove
      if (await attempt(`cannot ${dryRun ? 'read' : 'remove'} ${object}`, act)) done.push(object)
    }
    const definitions = await attempt('cannot remove the CRDs of --local-cluster', () =>
      removeDefinitions(dryRun ? unchanged(opened.installation) : opened.installation),
    )
    for (const plural of definitions?.removed ?? []) done.push(`CRD ${plural}, which --local-cluster left`)
    for (const each of definitions?.kept ?? []) printError(`kept ${each}, which --local-cluster left`)
    const lines = done.map((each) => `${dryRun ? 'would remove' : 'removed'} ${each}`)
    if (lines.length === 0 && failures.length === 0) lines.push('nothing to remove')
    process.stdout.write(lines.map((line) => `${visible(line)}\n`).join(''))
    if (failures.length > 0) return EXIT.unread
    return isFree ? EXIT.clean : EXIT.findings
  } finally {
    opened.close()
  }
}

/** With `--dry-run`, replaces the installation: deletes nothing, and answers as if each CRD were deleted. */
const unchanged = (installation: Opened['installation']): Parameters<typeof removeDefinitions>[0] => ({
  readDefinition: (plural) => installation.readDefinition(plural),
  countResources: (plural) => installation.countResources(plural),
  deleteDefinition: () => Promise.resolve(true),
})

const printError = (line: string) => void process.stderr.write(`${visible(`vmcp-admission: ${line}`)}\n`)

function findTargets({ installation, registrations }: Opened, namespace: string, all: boolean): Target[] {
  const configurations = CONFIGURATIONS.map((kind) => ({
    object: `${kind} ${WEBHOOK_NAME}`,
    exists: async () => (await registrations.readConfiguration(kind, WEBHOOK_NAME)) !== undefined,
    remove: () => registrations.deleteConfiguration(kind, WEBHOOK_NAME),
  }))
  if (!all) return configurations
  return [
    ...configurations,
    ...[WEBHOOK_NAME, REPORTS_LEASE].map((lease) => ({
      object: `Lease ${namespace}/${lease}`,
      exists: async () => (await registrations.lease(lease).read()) !== undefined,
      remove: () => installation.deleteLease(lease),
    })),
    {
      object: `Secret ${namespace}/${CA_SECRET}`,
      exists: async () => (await installation.readCertificates(CA_SECRET)) !== undefined,
      remove: () => installation.deleteSecret(CA_SECRET),
    },
  ]
}

/**
 * The reasons against uninstalling now, as sentences: a running leader would write the webhook configurations again,
 * or the configurations belong to another installation or to a running server of --local-cluster.
 */
async function findObstacles(
  opened: Opened,
  namespace: string,
  open: (namespace: string) => Promise<Opened>,
): Promise<string[]> {
  const { registrations } = opened
  const manager = `Lease ${namespace}/${WEBHOOK_NAME}`
  const configurations = await Promise.all(
    CONFIGURATIONS.map((kind) => registrations.readConfiguration(kind, WEBHOOK_NAME)),
  )
  const other = configurations.map(managerOf).find((each) => each !== undefined && each !== manager)
  const trial = configurations.find(isTemporary)
  const reasons = [
    trial && (await describeServing({ tryProbe: probeIn(open) }, trial)),
    await describeRunningWriter(opened, namespace),
  ]
  return [
    ...(other === undefined
      ? []
      : [
          `the webhook configurations are managed by another installation (${other}); --namespace names the installation`,
        ]),
    ...reasons.filter((each) => each !== undefined),
  ]
}

/** Sends the probe in a namespace. */
const probeIn =
  (open: (namespace: string) => Promise<Opened>) =>
  async (namespace: string, nonce: string): Promise<string | undefined> => {
    const there = await open(namespace)
    try {
      return await there.registrations.tryProbe(probeAnnotation(DEFAULT_API_GROUP), nonce)
    } finally {
      there.close()
    }
  }

/** Describes the leader that would soon write the webhook configurations again; undefined when none is running. */
async function describeRunningWriter(opened: Opened, namespace: string): Promise<string | undefined> {
  const { installation, registrations } = opened
  const [webhook, leader] = await Promise.all(
    [WEBHOOK_NAME, LEADER_NAME].map((name) => installation.readDeployment(name)),
  )
  const setup = setupsOf(webhook, leader).leader
  const deployment = setup?.deployment === LEADER_NAME ? leader : webhook
  if (setup !== undefined && setup.arming !== 'off' && part(deployment, 'spec', 'replicas') !== 0)
    return `Deployment ${namespace}/${setup.deployment} runs and would write the configurations again; first kubectl -n ${namespace} scale deployment ${setup.deployment} --replicas=0`
  const lease = await registrations.lease(WEBHOOK_NAME).read()
  if (lease === undefined || lease.holder === '') return undefined
  // By the clock of the API server: those of the holder and of this machine may be wrong.
  const since = Date.parse(lease.written === '' ? lease.renewed : lease.written)
  const age = Date.now() - (opened.clockOffset() ?? 0) - since
  return age <= lease.seconds * 1_000
    ? `${lease.holder} holds Lease ${namespace}/${WEBHOOK_NAME} and would write the configurations again; stop it first`
    : undefined
}
