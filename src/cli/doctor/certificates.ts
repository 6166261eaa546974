import { X509Certificate } from 'node:crypto'
import { WEBHOOK_NAME } from '../../kinds/registration.ts'
import { Findings, part, type Place, UNREAD } from './findings.ts'
import { entriesOf, urlOf } from './registration.ts'
import { CA_SECRET, CONFIGURATIONS, type Setup } from './setup.ts'

/** A certificate that was found, as it is printed. */
export interface FoundCertificate {
  /** Where: kind, name and part. */
  readonly of: string
  /** SHA-256 as OpenSSL prints it. */
  readonly fingerprint: string
  readonly expires: string
}

interface Bundle {
  readonly object: string
  readonly entry: string
  readonly certificates: readonly X509Certificate[]
}

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g
const LOGS = (namespace: string) => `kubectl -n ${namespace} logs deploy/${WEBHOOK_NAME}`

/** What the API server trusts beside what the servers sign with. */
export async function checkCertificates(
  stored: readonly unknown[],
  setup: Setup | undefined,
  place: Place,
): Promise<{ readonly findings: Findings; readonly certificates: readonly FoundCertificate[] }> {
  const findings = new Findings()
  const { namespace, opened } = place
  const secretObject = `Secret ${namespace}/${CA_SECRET}`
  const secret = await findings.read(secretObject, () => opened.installation.readCertificates(CA_SECRET))
  const bundles = stored.flatMap((configuration, i) => bundlesIn(configuration, i, setup, findings, place))
  const signing = secret === UNREAD ? undefined : certificatesIn(secret?.['current.crt'] ?? '')?.[0]
  const selfManaged = setup === undefined ? signing !== undefined : setup.certificates === 'self-managed'
  if (selfManaged && secret !== UNREAD && signing === undefined)
    findings.problem(
      'ca-missing',
      secretObject,
      secret === undefined ? 'not found' : 'holds no CA in current.crt',
      `a server with --certificates self-managed makes it; see why not: ${LOGS(namespace)}`,
    )
  if (signing !== undefined && selfManaged) {
    checkExpiry(`${secretObject}: the CA that signs`, signing, place, findings)
    checkCarried(signing, bundles, secretObject, place, findings)
  }
  checkBundles(bundles, place, findings)
  const certificates = [
    ...(signing === undefined || !selfManaged ? [] : [describe(`${secretObject} (signs)`, signing)]),
    ...bundles.flatMap(({ object, entry, certificates: all }) =>
      all.map((each) => describe(`${object}, ${entry}`, each)),
    ),
  ]
  return { findings, certificates: distinct(certificates) }
}

function bundlesIn(
  configuration: unknown,
  i: number,
  setup: Setup | undefined,
  findings: Findings,
  { namespace }: Place,
): Bundle[] {
  const object = `${CONFIGURATIONS[i]} ${WEBHOOK_NAME}`
  return entriesOf(configuration).flatMap((each) => {
    const entry = String(each.name)
    const text = part(each, 'clientConfig', 'caBundle')
    const pem = typeof text === 'string' ? Buffer.from(text, 'base64').toString() : ''
    const certificates = certificatesIn(pem)
    if (certificates !== undefined && certificates.length > 0) return [{ object, entry, certificates }]
    // Outside the cluster a public CA may vouch for it.
    if (pem === '' && urlOf(configuration) !== undefined) return []
    findings.problem(
      'bundle-unusable',
      object,
      `${entry}: caBundle ${pem === '' ? 'is empty' : 'holds no certificate that can be read'}`,
      setup !== undefined && setup.certificates !== 'self-managed'
        ? "cert-manager's cainjector, or whatever injects it, has not; is the annotation there, and the Certificate ready?"
        : `a server with --arming on and --certificates self-managed writes it; see why not: ${LOGS(namespace)}`,
    )
    return []
  })
}

/** The caBundle mismatch: calls fail while a bundle lacks the CA that signs. */
function checkCarried(
  signing: X509Certificate,
  bundles: readonly Bundle[],
  secret: string,
  { namespace }: Place,
  findings: Findings,
): void {
  for (const object of new Set(bundles.map((each) => each.object))) {
    const lacking = bundles.filter(
      (each) =>
        each.object === object &&
        !each.certificates.some(({ fingerprint256 }) => fingerprint256 === signing.fingerprint256),
    )
    const [first] = lacking
    if (first === undefined) continue
    findings.problem(
      'bundle-mismatch',
      object,
      `${lacking.map(({ entry }) => entry).join(', ')}: caBundle carries ${first.certificates.map(shown).join(' and ')}, and ${secret} signs with ${shown(signing)}`,
      `calls fail with x509 errors; a server with --arming on mends it within seconds; see why not: ${LOGS(namespace)}`,
    )
  }
}

function checkBundles(bundles: readonly Bundle[], { now, namespace }: Place, findings: Findings): void {
  const objects = new Set(bundles.map((each) => each.object))
  for (const object of objects) {
    const all = bundles.filter((each) => each.object === object)
    const dead = all.filter(({ certificates }) =>
      certificates.every((each) => each.validToDate.getTime() <= now()),
    )
    const [first] = dead
    if (first !== undefined)
      findings.problem(
        'bundle-expired',
        object,
        `${dead.map(({ entry }) => entry).join(', ')}: caBundle holds expired certificates only: ${first.certificates.map(shown).join(' and ')}`,
        `whatever writes it has stopped: ${LOGS(namespace)}, or look at cert-manager`,
      )
  }
}

/** A CA has long been replaced when a tenth of its life is left, if anybody looks after it. */
function checkExpiry(object: string, certificate: X509Certificate, place: Place, findings: Findings): void {
  const { validFromDate, validToDate } = certificate
  const left = validToDate.getTime() - place.now()
  const life = validToDate.getTime() - validFromDate.getTime()
  const remedy = `a server renews it in good time; see why not: ${LOGS(place.namespace)}`
  if (left <= 0) findings.problem('ca-expired', object, `has expired: ${shown(certificate)}`, remedy)
  else if (left < life / 10)
    findings.problem('ca-expires', object, `expires soon: ${shown(certificate)}`, remedy)
}

/** The certificates in a PEM text; undefined when one cannot be read. */
function certificatesIn(pem: string): X509Certificate[] | undefined {
  try {
    return (pem.match(PEM_CERTIFICATE) ?? []).map((block) => new X509Certificate(block))
  } catch {
    return undefined
  }
}

const shown = ({ fingerprint256, validToDate }: X509Certificate) =>
  `SHA-256 ${fingerprint256} (expires ${validToDate.toISOString()})`

const describe = (of: string, { fingerprint256, validToDate }: X509Certificate): FoundCertificate => ({
  of,
  fingerprint: fingerprint256,
  expires: validToDate.toISOString(),
})

/** One line for each configuration and certificate, not for each entry. */
function distinct(certificates: readonly FoundCertificate[]): FoundCertificate[] {
  const seen = new Map<string, FoundCertificate>()
  for (const each of certificates) {
    const of = each.of.replace(/, .*$/, '')
    seen.set(`${of} ${each.fingerprint}`, { ...each, of })
  }
  return [...seen.values()]
}
