import { setTimeout as sleep } from 'node:timers/promises'
import { WEBHOOK_NAME } from '../../kinds/registration.ts'
import { counted } from '../report.ts'
import { Findings, listOf, part, type Place, UNREAD } from './findings.ts'
import type { Setup } from './setup.ts'

/** The Deployment and whether its pods are ready. */
export function checkDeployment(deployment: unknown, { namespace }: Place): Findings {
  const findings = new Findings()
  const object = `Deployment ${namespace}/${WEBHOOK_NAME}`
  if (deployment === undefined) {
    const remedy = 'install the chart, or name the namespace of the installation with --namespace'
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
      `${kubectl} scale deployment ${WEBHOOK_NAME} --replicas=2`,
    )
  else if (ready < wanted)
    findings.problem(
      'replicas-not-ready',
      object,
      `${ready} of ${counted(wanted, 'replica')} ${ready === 1 ? 'is' : 'are'} ready`,
      `see why: ${kubectl} describe pods -l app.kubernetes.io/name=${WEBHOOK_NAME}; ${kubectl} logs deploy/${WEBHOOK_NAME}`,
    )
  return findings
}

/** The Service and whether anything stands behind it. */
export async function checkService({ opened, namespace, service }: Place): Promise<Findings> {
  const findings = new Findings()
  const object = `Service ${namespace}/${service}`
  const found = await findings.read(object, () => opened.installation.readService(service))
  if (found === UNREAD) return findings
  if (found === undefined) {
    const remedy = 'install the chart, or name it with --service'
    findings.problem('service-missing', object, 'not found', remedy)
    return findings
  }
  if (!listOf(part(found, 'spec', 'ports')).some((each) => part(each, 'port') === 443))
    findings.problem(
      'service-port',
      object,
      'has no port 443',
      'the webhook configurations call it there: add the port',
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
    `a pod that is ready must carry the labels of its selector: kubectl -n ${namespace} get pods -l '${labels.join(',')}'`,
  )
  return findings
}

/** The Lease: whether somebody looks after the webhook configurations. */
export async function checkLease(place: Place, setup: Setup | undefined): Promise<Findings> {
  const findings = new Findings()
  if (setup?.arming === 'off') return findings
  const { opened, namespace, now, patience } = place
  const object = `Lease ${namespace}/${WEBHOOK_NAME}`
  const store = opened.registrations.lease(WEBHOOK_NAME)
  const remedy = `the webhook configurations are not looked after until a server with --arming on runs: kubectl -n ${namespace} logs deploy/${WEBHOOK_NAME}`
  const lease = await findings.read(object, () => store.read())
  if (lease === UNREAD) return findings
  if (lease === undefined) findings.problem('lease-missing', object, 'not found', remedy)
  else if (lease.holder === '')
    findings.problem('lease-free', object, 'nobody holds it: the last server has stopped', remedy)
  else if (!(now() - Date.parse(lease.renewed) <= lease.seconds * 1_000)) {
    // Clocks differ: only what does not change while we look is not renewed.
    await sleep(patience)
    const later = await findings.read(object, () => store.read())
    if (later !== UNREAD && later?.resourceVersion === lease.resourceVersion)
      findings.problem(
        'lease-stale',
        object,
        `${lease.holder} has not renewed it since ${lease.renewed}`,
        remedy,
      )
  }
  return findings
}

const numberOf = (value: unknown, fallback: number) => (typeof value === 'number' ? value : fallback)
