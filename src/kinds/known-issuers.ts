import { advice, type FieldError, parseUrl, type Path, segmentsOf, withoutEnd } from '../rule/index.ts'

/** Hosts of Okta; `okta.mil` is its cloud for the US military. */
export const OKTA = /\.(?:okta(?:preview|-emea|-gov)?\.com|okta\.mil)$/i

/**
 * Identity providers whose issuers do not end with a slash (name, and pattern of the host). `WITH` has the providers
 * whose issuers end with a slash.
 */
const WITHOUT: readonly (readonly [string, RegExp])[] = [
  ['Okta', OKTA],
  ['Google', /^accounts\.google\.com$/i],
  ['Entra ID', /^login\.microsoftonline\.(com|us)$/i],
  ['GitHub Actions', /^token\.actions\.githubusercontent\.com$/i],
  ['Cognito', /^cognito-idp\.[a-z0-9-]+\.amazonaws\.com$/i],
]
const WITH: readonly (readonly [string, RegExp])[] = [
  ['Auth0', /\.auth0\.com$/i],
  ['Entra ID', /^sts\.windows\.net$/i],
]

/** Matches every issuer that must end with a slash; an issuer without a slash that does not match is not parsed. */
const PERHAPS_WITH = /\.auth0\.com|sts\.windows\.net/i

/** The end of the address of an issuer's metadata (OpenID Connect Discovery 1.0, RFC 8414). */
const METADATA = /\/\.well-known\/(?:openid-configuration|oauth-authorization-server)\/?$/

/** The start of the path of issuers of authentik, which end with a slash. */
const AUTHENTIK = '/application/o/'

/** Warns of an issuer that is the address of its metadata, or differs from that of a known provider by a slash. */
export function* issuerErrors(
  place: () => Path<string>,
  text: string | undefined,
  effect: string,
): Generator<FieldError> {
  if (!text) return
  const end = text.includes('/.well-known/') ? METADATA.exec(text) : null
  if (end !== null) {
    yield* metadataError(place(), text.slice(0, end.index), effect)
    return
  }
  const meant = meantIssuer(text)
  if (meant !== undefined) yield advice(place(), issuerDetail(meant, effect))
}

/**
 * Warns of the address of metadata; `before` is the part before the path of the metadata. An issuer at the root of a
 * host may end with a slash, as those of Auth0 at custom domains do, so it has no fix.
 */
function* metadataError(path: Path<string>, before: string, effect: string): Generator<FieldError> {
  const url = parseUrl(before)
  if (!url?.host || url.hasUserInfo) return
  const issuer = before.includes(AUTHENTIK) ? `${before}/` : (meantIssuer(before)?.issuer ?? before)
  const isCertain = isKnown(url.host) || /^https?:\/\/[^/]+\/./.test(issuer)
  const error = advice(
    path,
    `is the address of the metadata of an issuer, so ${effect}; write ${isCertain ? '' : 'the `issuer` there, such as '}'${issuer}'`,
  )
  const at = segmentsOf(path)
  const fix = { title: `write '${issuer}'`, edits: [{ op: 'set', at, value: issuer }] } as const
  yield isCertain ? { ...error, fix } : error
}

const isKnown = (host: string) => [...WITHOUT, ...WITH].some(([, hosts]) => hosts.test(host))

/** A known provider, and its issuer as written in its tokens and metadata. */
interface KnownIssuer {
  readonly provider: string
  readonly issuer: string
}

/** The correct issuer, if a known provider's issuer has a slash too many or too few at its end; else undefined. */
function meantIssuer(text: string): KnownIssuer | undefined {
  if (!text.endsWith('/') && !PERHAPS_WITH.test(text)) return undefined
  const host = parseUrl(text)?.host
  if (!host || /[?#]/.test(text)) return undefined
  const of = (known: typeof WITH) => known.find(([, hosts]) => hosts.test(host))?.[0]
  const provider = of(text.endsWith('/') ? WITHOUT : WITH)
  if (provider === undefined) return undefined
  return { provider, issuer: text.endsWith('/') ? withoutEnd(text, '/') : `${text}/` }
}

/** Says how the provider writes its issuer, and what happens to an issuer that differs from it by the slash. */
const issuerDetail = ({ provider, issuer }: KnownIssuer, effect: string): string =>
  `${provider} writes its issuer ${issuer.endsWith('/') ? 'with a' : 'without a'} slash at the end, so ${effect}; write '${issuer}'`

/** Hosts of the issuers of clusters: of EKS, GKE and AKS. Their certificates are signed by public CAs. */
const CLUSTER =
  /^(?:oidc\.eks\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?|oidc-eks\.[a-z0-9-]+\.api\.aws|container\.googleapis\.com)$|\.oic\.prod-aks\.azure\.com$/i
/** Hosts of buckets, where other clusters publish their keys. */
const BUCKET =
  /^storage\.googleapis\.com$|(?:^|\.)s3(?:[.-][a-z0-9-]+)?\.amazonaws\.com$|\.(?:blob\.core\.windows\.net|cloudfront\.net)$/i

/**
 * Whether clusters publish their keys at the host, with a certificate of a public CA. No other host is certain: an API
 * server may have a public name and a certificate of its cluster.
 */
export const isPublicIssuer = (host: string): boolean => CLUSTER.test(host) || BUCKET.test(host)

/** How an issuer writes the `sub` of its tokens, with characters that AWS refuses in the name of a session. */
export interface RefusedSubject {
  readonly text: string
  /** Another claim, whose values AWS accepts. */
  readonly instead: string
}

export const SERVICE_ACCOUNT: RefusedSubject = { text: '"system:serviceaccount:…"', instead: 'jti' }
const SUBJECTS: readonly (readonly [RegExp, RefusedSubject])[] = [
  [CLUSTER, SERVICE_ACCOUNT],
  [/\.auth0\.com$/i, { text: '"auth0|…" for users', instead: 'azp, or email where they have it' }],
  [/^token\.actions\.githubusercontent\.com$/i, { text: '"repo:…"', instead: 'run_id' }],
]

/** The `sub` of an issuer's tokens, if AWS refuses it as the name of a session; undefined if it may accept it. */
export function subjectRefusedByAws(issuer: string): RefusedSubject | undefined {
  const host = parseUrl(issuer)?.host
  return host === undefined ? undefined : SUBJECTS.find(([hosts]) => hosts.test(host))?.[1]
}
