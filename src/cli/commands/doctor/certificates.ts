import { X509Certificate } from 'node:crypto'
import { WEBHOOK_NAME } from '../../../registration/index.ts'
import { certificateBlocks } from '../../../rule/index.ts'
import { Findings, part, type CheckedInstallation, UNREAD } from './findings.ts'
import { entriesOf, urlOf } from './registration.ts'
import { CA_SECRET, CONFIGURATIONS, seeLog, type Setups } from './setup.ts'

/** A certificate that the command `doctor` found, as it is printed. */
export interface FoundCertificate {
  /** The Secret or the webhook configuration that contains the certificate. */
  readonly of: string
  /** The SHA-256 of the certificate, formatted as OpenSSL prints it. */
  readonly fingerprint: string
  readonly expires: string
}

interface Bundle {
  readonly object: string
  readonly entry: string
  readonly certificates: readonly X509Certificate[]
}

/**
 * Compares the CAs in the webhook configurations, which the API server trusts, with the CA that signs the servers'
 * certificates.
 */
export async function checkCertificates(
  stored: readonly unknown[],
  setups: Setups,
  place: CheckedInstallation,
): Promise<{ readonly findings: Findings; readonly certificates: readonly FoundCertificate[] }> {
  const findings = new Findings()
  const { namespace, opened } = place
  const setup = setups.webhook
  const secretObject = `Secret ${namespace}/${CA_SECRET}`
  const secret = await findings.read(secretObject, () => opened.installation.readCertificates(CA_SECRET))
  const bundles = stored.flatMap((configuration, i) => bundlesIn(configuration, i, setups, findings, place))
  const signing = secret === UNREAD ? undefined : certificatesIn(secret?.['current.crt'] ?? '')?.[0]
  const selfManaged = setup === undefined ? signing !== undefined : setup.certificates === 'self-managed'
  if (selfManaged && secret !== UNREAD && signing === undefined)
    findings.problem(
      'ca-missing',
      secretObject,
      secret === undefined ? 'not found' : 'has no CA certificate in current.crt',
      `a server with --certificates self-managed creates it; ${seeLog(setups, namespace)}`,
    )
  if (signing !== undefined && selfManaged) {
    checkExpiry(`${secretObject}: the CA that signs`, signing, setups, place, findings)
    checkSigningCaIsTrusted(signing, bundles, secretObject, seeLog(setups, namespace), findings)
  }
  checkBundles(bundles, setups, place, findings)
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
  setups: Setups,
  findings: Findings,
  { namespace }: CheckedInstallation,
): Bundle[] {
  const object = `${CONFIGURATIONS[i]} ${WEBHOOK_NAME}`
  return entriesOf(configuration).flatMap((each) => {
    const entry = String(each.name)
    const text = part(each, 'clientConfig', 'caBundle')
    const pem = typeof text === 'string' ? Buffer.from(text, 'base64').toString() : ''
    const certificates = certificatesIn(pem)
    if (certificates !== undefined && certificates.length > 0) return [{ object, entry, certificates }]
    // A webhook with a URL needs no caBundle when a public CA signs the certificate of its server.
    if (pem === '' && urlOf(configuration) !== undefined) return []
    findings.problem(
      'bundle-unusable',
      object,
      `${entry}: caBundle ${pem === '' ? 'is empty' : 'holds no certificate that can be read'}`,
      setups.webhook !== undefined && setups.webhook.certificates !== 'self-managed'
        ? "cert-manager's cainjector writes it: check the annotation cert-manager.io/inject-ca-from, and that the Certificate is Ready"
        : `a server with --arming on and --certificates self-managed writes it; ${seeLog(setups, namespace)}`,
    )
    return []
  })
}

/** Reports a caBundle without the CA that signs serving certificates: all calls fail until the CA is added. */
function checkSigningCaIsTrusted(
  signing: X509Certificate,
  bundles: readonly Bundle[],
  secret: string,
  log: string,
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
      `${lacking.map(({ entry }) => entry).join(', ')}: caBundle holds ${first.certificates.map(withExpiry).join(' and ')}, and ${secret} signs with ${withExpiry(signing)}`,
      `calls fail with x509 errors; a server with --arming on corrects it within seconds; ${log}`,
    )
  }
}

function checkBundles(
  bundles: readonly Bundle[],
  setups: Setups,
  { now, namespace }: CheckedInstallation,
  findings: Findings,
): void {
  const objects = new Set(bundles.map((each) => each.object))
  for (const object of objects) {
    const all = bundles.filter((each) => each.object === object)
    const dead = all.filter(({ certificates }) => certificates.every((each) => !isValid(each, now())))
    const [first] = dead
    if (first === undefined) continue
    const entries = dead.map(({ entry }) => entry).join(', ')
    if (first.certificates.some((each) => isFuture(each, now())))
      findings.problem(
        'bundle-not-yet-valid',
        object,
        `${entries}: caBundle holds only certificates that are not valid yet: ${first.certificates.map(withStart).join(' and ')}`,
        `calls fail with x509 errors; ${WRONG_CLOCK}; ${seeLog(setups, namespace)}`,
      )
    else
      findings.problem(
        'bundle-expired',
        object,
        `${entries}: caBundle holds expired certificates only: ${first.certificates.map(withExpiry).join(' and ')}`,
        `the leader or cert-manager, which writes it, has stopped; ${seeLog(setups, namespace)}`,
      )
  }
}

const WRONG_CLOCK =
  'a server whose clock was ahead made it; one whose clock is right replaces it within a minute'

const isFuture = ({ validFrom }: X509Certificate, now: number) => Date.parse(validFrom) > now
const isValid = (certificate: X509Certificate, now: number) =>
  !isFuture(certificate, now) && Date.parse(certificate.validTo) > now

/** Reports a CA that is not valid, or has under a tenth of its life left: a running leader would have renewed it. */
function checkExpiry(
  object: string,
  certificate: X509Certificate,
  setups: Setups,
  place: CheckedInstallation,
  findings: Findings,
): void {
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  if (isFuture(certificate, place.now())) {
    const time = new Date(place.now()).toISOString()
    findings.problem(
      'ca-not-yet-valid',
      object,
      `is not valid yet: ${withStart(certificate)}, and the API server's clock says ${time}`,
      `${WRONG_CLOCK}; ${seeLog(setups, place.namespace)}`,
    )
    return
  }
  const left = to - place.now()
  const life = to - from
  const remedy = `a running leader renews it before it expires; ${seeLog(setups, place.namespace)}`
  if (left <= 0) findings.problem('ca-expired', object, `has expired: ${withExpiry(certificate)}`, remedy)
  else if (left < life / 10)
    findings.problem('ca-expires', object, `expires soon: ${withExpiry(certificate)}`, remedy)
}

/** The certificates in a PEM text; undefined when a certificate cannot be read. */
function certificatesIn(pem: string): X509Certificate[] | undefined {
  try {
    return certificateBlocks(pem).map((block) => new X509Certificate(block))
  } catch {
    return undefined
  }
}

const withExpiry = ({ fingerprint256, validTo }: X509Certificate) =>
  `SHA-256 ${fingerprint256} (expires ${new Date(validTo).toISOString()})`

const withStart = ({ fingerprint256, validFrom }: X509Certificate) =>
  `SHA-256 ${fingerprint256} (valid from ${new Date(validFrom).toISOString()})`

const describe = (of: string, { fingerprint256, validTo }: X509Certificate): FoundCertificate => ({
  of,
  fingerprint: fingerprint256,
  expires: new Date(validTo).toISOString(),
})

/** The certificates without repeats, because several entries of a configuration may have the same certificate. */
function distinct(certificates: readonly FoundCertificate[]): FoundCertificate[] {
  const seen = new Map<string, FoundCertificate>()
  for (const each of certificates) {
    const of = each.of.split(', ', 1)[0] ?? ''
    seen.set(`${of} ${each.fingerprint}`, { ...each, of })
  }
  return [...seen.values()]
}
