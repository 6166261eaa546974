import { setTimeout as sleep } from 'node:timers/promises'
import { LEADER_NAME, WEBHOOK_NAME } from '../../../registration/index.ts'
import { counted } from '../../output/report.ts'
import { aheadOrBehind } from '../../../rule/index.ts'
import { Findings, listOf, part, type CheckedInstallation, textsOf, UNREAD } from './findings.ts'
import { seeLog, type Setup, type Setups } from './setup.ts'

/** Checks that a Deployment exists and that its pods are ready. */
export function checkDeployment(
  name: string,
  deployment: unknown,
  { namespace }: CheckedInstallation,
): Findings {
  const findings = new Findings()
  const object = `Deployment ${namespace}/${name}`
  if (deployment === undefined) {
    const remedy =
      name === LEADER_NAME
        ? 'vmcp-admission runs with --role=webhook, and then only this Deployment writes the webhook configurations: install it with the chart'
        : 'install the chart, or name the namespace of the installation with --namespace'
    findings.problem('deployment-missing', object, 'not found', remedy)
    return findings
  }
  const wanted = numberOf(part(deployment, 'spec', 'replicas'), 1)
  const ready = numberOf(part(deployment, 'status', 'readyReplicas'), 0)
  const kubectl = `kubectl -n ${namespace}`
  if (wanted === 0)
    findings.problem(
      'no-replicas',
      object,
      'is scaled to 0 replicas',
      `${kubectl} scale deployment ${name} --replicas=${name === LEADER_NAME ? 1 : 2}`,
    )
  else if (ready < wanted)
    findings.problem(
      'replicas-not-ready',
      object,
      `${ready} of ${counted(wanted, 'replica')} ${ready === 1 ? 'is' : 'are'} ready`,
      `see why: ${kubectl} describe pods -l app.kubernetes.io/name=${name}; ${kubectl} logs deploy/${name}`,
    )
  return findings
}

/** Checks that the Service exists and has ready endpoints. */
export async function checkService({ opened, namespace, service }: CheckedInstallation): Promise<Findings> {
  const findings = new Findings()
  const object = `Service ${namespace}/${service}`
  const found = await findings.read(object, () => opened.installation.readService(service))
  if (found === UNREAD) return findings
  if (found === undefined) {
    const remedy = 'install the chart, or name the Service with --service'
    findings.problem('service-missing', object, 'not found', remedy)
    return findings
  }
  if (!listOf(part(found, 'spec', 'ports')).some((each) => part(each, 'port') === 443))
    findings.problem(
      'service-port',
      object,
      'has no port 443',
      'add it: the webhook configurations call that port',
    )
  const slices = await findings.read(`EndpointSlices of ${object}`, () =>
    opened.installation.listEndpoints(service),
  )
  if (slices === UNREAD) return findings
  const ready = slices
    .flatMap((slice) => listOf(part(slice, 'endpoints')))
    .filter((endpoint) => part(endpoint, 'conditions', 'ready') !== false)
  if (ready.length > 0) return findings
  const labels = Object.entries(part(found, 'spec', 'selector') ?? {}).map(
    ([label, value]) => `${label}=${String(value)}`,
  )
  findings.problem(
    'no-endpoints',
    object,
    'has no ready endpoints',
    `check that pods with the labels of its selector are ready: kubectl -n ${namespace} get pods -l '${labels.join(',')}'`,
  )
  return findings
}

/** Whether the namespace certainly does not exist; false without the permission to read it. */
export async function isNamespaceMissing({ opened }: CheckedInstallation): Promise<boolean> {
  try {
    return (await opened.installation.readNamespace()) === undefined
  } catch {
    return false
  }
}

/** Checks that a leader has the Lease and renews it. */
export async function checkLease(place: CheckedInstallation, setups: Setups): Promise<Findings> {
  const findings = new Findings()
  if ((setups.leader ?? setups.webhook)?.arming === 'off') return findings
  const { opened, namespace, now, leaseWaitMs } = place
  const object = `Lease ${namespace}/${WEBHOOK_NAME}`
  const store = opened.registrations.lease(WEBHOOK_NAME)
  const remedy = `no server reconciles the webhook configurations until one with --arming on runs; ${seeLog(setups, namespace)}`
  const lease = await findings.read(object, () => store.read())
  if (lease === UNREAD) return findings
  if (lease === undefined && (await isNamespaceMissing(place)))
    findings.problem(
      'namespace-missing',
      `Namespace ${namespace}`,
      'not found: a server with --arming on keeps its Lease there, and writes no webhook configuration without it',
      `kubectl create namespace ${namespace}, or name the namespace of the installation with --namespace`,
    )
  else if (lease === undefined) findings.problem('lease-missing', object, 'not found', remedy)
  else if (lease.holder === '')
    findings.problem('lease-free', object, 'has no holder: the last server has stopped', remedy)
  else {
    const { holder, renewed, written } = lease
    if (written !== '') checkClock(findings, object, holder, Date.parse(renewed), Date.parse(written))
    const since = written === '' ? renewed : written
    if (now() - Date.parse(since) <= lease.seconds * 1_000) return findings
    // The clocks may differ, so a Lease that seems expired is read again later: only an unchanged Lease is reported.
    await sleep(leaseWaitMs)
    const later = await findings.read(object, () => store.read())
    if (later !== UNREAD && later?.resourceVersion === lease.resourceVersion)
      findings.problem(
        'lease-stale',
        object,
        `its holder ${holder} has not renewed it since ${since}`,
        remedy,
      )
  }
  return findings
}

/** The largest difference of clocks that is not reported, in milliseconds: more than the duration of a request. */
const CLOCK_TOLERANCE_MS = 60_000

/**
 * Reports a replica whose clock differs from the API server's. `its` and `server` are what the two clocks showed at the
 * same moment, in Unix milliseconds.
 */
function checkClock(findings: Findings, object: string, replica: string, its: number, server: number): void {
  if (!(Math.abs(its - server) > CLOCK_TOLERANCE_MS)) return
  const [itsTime, serverTime] = [its, server].map((time) => new Date(time).toISOString())
  findings.problem(
    'clock-differs',
    object,
    `the clock of ${replica} says ${itsTime} when the API server's says ${serverTime}, which is ${aheadOrBehind(its - server)} the API server's`,
    'set the clock of its node (NTP): a replica that is off by more than 30 minutes makes no certificate and is not ready',
  )
}

/** Adds a note when the clock of this machine is wrong, because users compare it with the times that doctor prints. */
export function checkClockHere({ opened, now }: CheckedInstallation): Findings {
  const findings = new Findings()
  const offset = opened.clockOffset() ?? 0
  if (Math.abs(offset) > CLOCK_TOLERANCE_MS)
    findings.note(
      'clock-here',
      'this machine',
      `its clock says ${new Date(now() + offset).toISOString()} when the API server's says ${new Date(now()).toISOString()}`,
      'doctor judges by the clock of the API server',
    )
  return findings
}

/** Reads the clocks of the pods of a Deployment that is not ready; skips pods that do not answer. */
export async function checkPodClocks(
  deployment: unknown,
  setup: Setup | undefined,
  { opened, namespace, now }: CheckedInstallation,
): Promise<Findings> {
  const findings = new Findings()
  const wanted = numberOf(part(deployment, 'spec', 'replicas'), 1)
  if (setup === undefined || numberOf(part(deployment, 'status', 'readyReplicas'), 0) >= wanted)
    return findings
  const labels = (part(deployment, 'spec', 'selector', 'matchLabels') ?? {}) as Record<string, string>
  const pods = await opened.installation.listPods(labels).catch(() => [])
  const names = pods.flatMap((pod) => textsOf([part(pod, 'metadata', 'name')]))
  const metrics = await Promise.all(
    names.map((name) => opened.installation.readPodMetrics(name, setup.probePort).catch(() => '')),
  )
  for (const [i, name] of names.entries()) {
    const seconds = Number(/^vmcp_admission_clock_offset_seconds (\S+)$/m.exec(metrics[i] ?? '')?.[1])
    checkClock(findings, `Pod ${namespace}/${name}`, 'this replica', now() + seconds * 1_000, now())
  }
  return findings
}

const numberOf = (value: unknown, fallback: number) => (typeof value === 'number' ? value : fallback)
