import { isIP } from 'node:net'
import { aheadOrBehind, type Finding, shortQuote } from '../rule/index.ts'
import { findingAt } from './findings.ts'
import { isInCluster } from './hosts.ts'
import type { ProbeAnswer, RequestFailure, Method } from './request.ts'
import type { Target } from './target.ts'

/** The most milliseconds by which clocks may differ, which the operator also allows in tokens of trusted issuers. */
const MOST_SKEW_MS = 60_000

export const isOfUnknownAuthority = ({ failed, detail }: RequestFailure): boolean =>
  failed === 'certificate' && detail.startsWith('is not of')

/** The finding about a failed request; undefined for a host in the cluster, which may be reachable only from there. */
export function failureFinding(
  target: Target,
  url: URL,
  { failed, detail }: RequestFailure,
): Finding | undefined {
  const { host } = url
  const { bundle, privateField } = target.connecting
  switch (failed) {
    case 'certificate': {
      const authority =
        bundle?.isOnly === true
          ? `; only those of ConfigMap ${shortQuote(bundle.name)} are trusted`
          : '; name its authority in caBundleRef'
      const isUnknown = isOfUnknownAuthority({ failed, detail })
      const more = isUnknown && (privateField !== undefined || bundle) ? authority : ''
      return findingAt(target, 'probe-certificate-trusted', `the certificate of ${host} ${detail}${more}`)
    }
    case 'private':
      return findingAt(
        target,
        'probe-address-allowed',
        `leads to ${host}, which is at the private address ${detail} here, so the probe sent no request`,
      )
    default:
      return isInCluster(url)
        ? undefined
        : findingAt(target, 'probe-host-reachable', `${host} cannot be asked from here: ${detail}`)
  }
}

/** The findings about the connection and the headers of an answer, such as a wrong clock. */
export function answerFindings(target: Target, method: Method, url: URL, answer: ProbeAnswer): Finding[] {
  return [
    ...privateFindings(target, url, answer),
    ...(method === 'GET' || target.use.is === 'remote' ? redirectFindings(target, url, answer) : []),
    ...clockFindings(target, url, answer),
  ]
}

function privateFindings(target: Target, { hostname }: URL, { privateAddress }: ProbeAnswer): Finding[] {
  const { privateField, allowsPrivate } = target.connecting
  // Whether the command `check` already judges this host: an IP address, or a name in the cluster.
  const isJudged = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 || isInCluster(new URL(`http://${hostname}`))
  if (privateAddress === undefined || privateField === undefined || allowsPrivate || isJudged) return []
  const detail = `${hostname} is at the private address ${privateAddress} here; if it is at one in the cluster too, set ${privateField}: true, or the server does not connect to it`
  return [findingAt(target, 'probe-address-allowed', detail)]
}

export const isRedirect = ({ status, headers }: ProbeAnswer): boolean =>
  status >= 300 && status < 400 && headers.location !== undefined

function redirectFindings(target: Target, url: URL, answer: ProbeAnswer): Finding[] {
  if (!isRedirect(answer)) return []
  const { location = '' } = answer.headers
  const to = URL.canParse(location, url.href) ? new URL(location, url.href) : undefined
  const isRefused =
    target.connecting.redirects === 'to the same host' &&
    (to?.host !== url.host || (url.protocol === 'https:' && to.protocol !== 'https:'))
  const does = isRefused ? 'which the operator refuses to follow' : 'which the probe does not follow'
  return [
    findingAt(
      target,
      'probe-redirect-free',
      `${url.href} redirects to ${shortQuote(to?.href ?? location)}, ${does}; write that address`,
    ),
  ]
}

function clockFindings(target: Target, { host }: URL, { ahead }: ProbeAnswer): Finding[] {
  if (ahead === undefined || Math.abs(ahead) <= MOST_SKEW_MS) return []
  const detail = `the clock of ${host} is ${aheadOrBehind(ahead)} the one here: tokens are not valid yet, or expired, where the clock is wrong; correct that clock`
  return [findingAt(target, 'probe-clock-agrees', detail)]
}
