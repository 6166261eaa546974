import { WEBHOOK_NAME } from '../../kinds/registration.ts'
import { checkCertificates, type FoundCertificate } from './certificates.ts'
import { checkDefinitions } from './crds.ts'
import { type DoctorFinding, Findings, type Place, UNREAD } from './findings.ts'
import { type Probe, tryProbe } from './probe.ts'
import { checkOthers, checkRegistrations, urlOf } from './registration.ts'
import { checkRights } from './rights.ts'
import { CONFIGURATIONS, setupOf } from './setup.ts'
import { checkDeployment, checkLease, checkService } from './workload.ts'

/** What is wrong with an installation. */
export interface Diagnosis {
  readonly findings: readonly DoctorFinding[]
  readonly certificates: readonly FoundCertificate[]
  readonly probe: Probe
}

/** Looks at everything. Whether the API server answers at all is seen before. */
export async function examine(place: Place): Promise<Diagnosis> {
  const { opened, namespace } = place
  const first = new Findings()
  const [deployment, ...configurations] = await Promise.all([
    first.read(`Deployment ${namespace}/${WEBHOOK_NAME}`, () =>
      opened.installation.readDeployment(WEBHOOK_NAME),
    ),
    ...CONFIGURATIONS.map((kind) =>
      first.read(`${kind} ${WEBHOOK_NAME}`, () => opened.registrations.readConfiguration(kind, WEBHOOK_NAME)),
    ),
  ])
  const setup = deployment === UNREAD ? undefined : setupOf(deployment)
  const isReadable = !configurations.includes(UNREAD)
  const stored = configurations.map((each) => (each === UNREAD ? undefined : each))
  const url = urlOf(stored[0]) ?? urlOf(stored[1])
  const [service, lease, certificates, definitions, rights, others] = await Promise.all([
    url === undefined ? checkService(place) : outside(url),
    checkLease(place, setup),
    checkCertificates(stored, setup, place),
    checkDefinitions(place),
    setup === undefined || url !== undefined ? new Findings() : checkRights(setup, place),
    checkOthers(place),
  ])
  // After all else: what it waits for takes the longest, and nothing is to compete with it.
  const { findings: probing, probe } = await tryProbe(place)
  const all = [
    first,
    ...(url === undefined && deployment !== UNREAD ? [checkDeployment(deployment, place)] : []),
    service,
    rights,
    definitions,
    ...(isReadable ? [checkRegistrations(stored, setup, place)] : []),
    certificates.findings,
    lease,
    others,
    probing,
  ]
  return {
    findings: all.flatMap(({ found }) => found),
    certificates: certificates.certificates,
    probe,
  }
}

/** A server outside the cluster has neither Service nor Deployment. */
function outside(url: string): Findings {
  const findings = new Findings()
  findings.note(
    'by-url',
    `webhook configurations`,
    `lead to ${url}: no Service, Deployment or right is looked at`,
  )
  return findings
}
