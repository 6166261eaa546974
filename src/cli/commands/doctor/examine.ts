import { holderOf, isTemporary, namespacesOf } from '../../../arming/temporary.ts'
import { LEADER_NAME, WEBHOOK_NAME } from '../../../registration/index.ts'
import { checkCertificates, type FoundCertificate } from './certificates.ts'
import { checkDefinitions } from './crds.ts'
import { type DoctorFinding, Findings, type CheckedInstallation, UNREAD } from './findings.ts'
import { type Layer, layersOf } from './layers.ts'
import { type Probe, tryProbe } from './probe.ts'
import { checkOthers, checkRegistrations, urlOf } from './registration.ts'
import { checkRights } from './rights.ts'
import { CONFIGURATIONS, type Setup, setupsOf } from './setup.ts'
import {
  checkClockHere,
  checkDeployment,
  checkLease,
  checkPodClocks,
  checkService,
  isNamespaceMissing,
} from './workload.ts'

/** The result of examining an installation. */
export interface Diagnosis {
  readonly findings: readonly DoctorFinding[]
  readonly certificates: readonly FoundCertificate[]
  readonly probe: Probe
  /** The operator release whose CRDs are installed, as text; absent when the CRDs were not read. */
  readonly release?: string
  /** Describes the trial server (`--local-cluster`) that is registered instead of an installation. */
  readonly trial?: string
  /**
   * The rules that each part of the installation enforces now. Absent with `--probe-only`, or when nothing is installed
   * or the API server does not answer.
   */
  readonly layers?: readonly Layer[]
}

/** Runs all checks of an installation. The caller must have checked that the API server answers. */
export async function examine(place: CheckedInstallation): Promise<Diagnosis> {
  const { opened } = place
  const first = new Findings()
  const [deployments, ...configurations] = await Promise.all([
    readDeployments(place, first),
    ...CONFIGURATIONS.map((kind) =>
      first.read(`${kind} ${WEBHOOK_NAME}`, () => opened.registrations.readConfiguration(kind, WEBHOOK_NAME)),
    ),
  ])
  const [deployment, leader] = deployments
  const isNothingThere = [deployment, leader, ...configurations].every((each) => each === undefined)
  if (isNothingThere && !(await isPartlyInstalled(place))) return nothingInstalled(place)
  const setups = setupsOf(...knownOf(deployments))
  const accounts = new Set(
    [setups.webhook, setups.leader].filter((each): each is Setup => each !== undefined),
  )
  const isReadable = !configurations.includes(UNREAD)
  const stored = configurations.map((each) => (each === UNREAD ? undefined : each))
  const trial = stored.find(isTemporary)
  if (trial !== undefined) return examineTrial(place, stored, trial)
  const url = urlOf(stored[0]) ?? urlOf(stored[1])
  const [service, podClocks, lease, certificates, definitions, rights, others] = await Promise.all([
    url === undefined ? checkService(place) : noteUrl(url),
    checkPodClocks(deployment, setups.webhook, place),
    checkLease(place, setups),
    checkCertificates(stored, setups, place),
    checkDefinitions(place, setups.webhook?.followsRelease),
    url === undefined ? Promise.all([...accounts].map((setup) => checkRights(setup, place))) : [],
    checkOthers(place),
  ])
  // Runs last, because it takes longest and other requests must not affect its timing.
  const { findings: probing, probe } = await tryProbe(place, setups, url)
  const needsLeader = setups.webhook?.role === 'webhook' && setups.webhook.arming !== 'off'
  const all = [
    first,
    ...(url === undefined && deployment !== UNREAD ? [checkDeployment(WEBHOOK_NAME, deployment, place)] : []),
    ...(url === undefined && leader !== UNREAD && (needsLeader || leader !== undefined)
      ? [checkDeployment(LEADER_NAME, leader, place)]
      : []),
    podClocks,
    service,
    ...rights,
    definitions.findings,
    ...(isReadable ? [checkRegistrations(stored, setups, place)] : []),
    certificates.findings,
    lease,
    checkClockHere(place),
    others,
    probing,
  ]
  return {
    findings: all.flatMap(({ found }) => found),
    certificates: certificates.certificates,
    probe,
    release: definitions.release,
    layers: await layersOf(place, {
      definitions: definitions.installed,
      validating: stored[0],
      setup: setups.webhook,
      probe,
    }),
  }
}

/** Examines a trial server of `--local-cluster`: its webhooks fail open, and nothing is deployed in the namespace. */
async function examineTrial(
  place: CheckedInstallation,
  stored: readonly (Readonly<Record<string, unknown>> | undefined)[],
  trial: Readonly<Record<string, unknown>>,
): Promise<Diagnosis> {
  const namespaces = namespacesOf(trial)
  const setups = setupsOf(undefined, undefined)
  const [certificates, definitions, others] = await Promise.all([
    checkCertificates(stored, setups, place),
    checkDefinitions(place),
    checkOthers(place),
  ])
  const { findings: probing, probe } =
    namespaces.length === 0 || namespaces.includes(place.namespace)
      ? await tryProbe(place, setups, urlOf(trial))
      : {
          findings: new Findings(),
          probe: {
            outcome: 'not known' as const,
            answer: `it judges other namespaces: --namespace ${namespaces[0] ?? ''} tries it there`,
          },
        }
  return {
    findings: [definitions.findings, certificates.findings, others, probing].flatMap(({ found }) => found),
    certificates: certificates.certificates,
    probe,
    release: definitions.release,
    trial: `trial of --local-cluster (${holderOf(trial)}, ${urlOf(trial) ?? 'no URL'}) ${namespaces.length === 0 ? 'for all namespaces' : `for the namespace ${namespaces.join(', ')}`}`,
    layers: await layersOf(place, {
      definitions: definitions.installed,
      validating: stored[0],
      setup: undefined,
      probe,
    }),
  }
}

/**
 * Checks only whether the API server reaches the webhook: for accounts with few rights, such as the account of
 * `helm test`.
 */
export async function examineProbe(place: CheckedInstallation): Promise<Diagnosis> {
  const reading = new Findings()
  const setups = setupsOf(...knownOf(await readDeployments(place, reading)))
  const { findings, probe } = await tryProbe(place, setups)
  return { findings: [...reading.found, ...findings.found], certificates: [], probe }
}

/** Reads the Deployments of the server and of the leader. */
function readDeployments(
  { opened, namespace }: CheckedInstallation,
  findings: Findings,
): Promise<[webhook: unknown, leader: unknown]> {
  const read = (name: string) =>
    findings.read(`Deployment ${namespace}/${name}`, () => opened.installation.readDeployment(name))
  return Promise.all([read(WEBHOOK_NAME), read(LEADER_NAME)])
}

const knownOf = ([webhook, leader]: [unknown, unknown]): [unknown, unknown] => [
  webhook === UNREAD ? undefined : webhook,
  leader === UNREAD ? undefined : leader,
]

/** Whether the Service or the Lease exists, or may exist because it cannot be read. */
async function isPartlyInstalled({ opened, service }: CheckedInstallation): Promise<boolean> {
  try {
    const [found, lease] = await Promise.all([
      opened.installation.readService(service),
      opened.registrations.lease(WEBHOOK_NAME).read(),
    ])
    return found !== undefined || lease !== undefined
  } catch {
    return true
  }
}

/** Reports once that nothing is installed, instead of once for each missing object; also reports missing CRDs. */
async function nothingInstalled(place: CheckedInstallation): Promise<Diagnosis> {
  const { namespace } = place
  const findings = new Findings()
  const [isMissing, definitions] = await Promise.all([isNamespaceMissing(place), checkDefinitions(place)])
  findings.problem(
    'not-installed',
    `Namespace ${namespace}`,
    isMissing
      ? 'not found, so nothing is installed there'
      : 'nothing is installed here: no Deployment, Service, Lease or webhook configuration',
    `helm install vmcp-admission deploy/helm/vmcp-admission --namespace ${namespace} --create-namespace, or name the namespace of the installation with --namespace`,
  )
  return {
    findings: [...findings.found, ...definitions.findings.found],
    certificates: [],
    probe: { outcome: 'not reached', answer: 'nothing is installed' },
    release: definitions.release,
  }
}

/** Adds a note that a server outside the cluster has no Service or Deployment to check. */
function noteUrl(url: string): Findings {
  const findings = new Findings()
  findings.note(
    'by-url',
    `webhook configurations`,
    `call ${url}: doctor checks no Service, Deployment or rights`,
  )
  return findings
}
