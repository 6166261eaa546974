/** The IPv4 networks to which the operator's HTTP clients do not connect on their own: private, local and reserved ones. */
const PRIVATE_IPV4 = [
  /^(?:0|10|127|22[4-9]|2[345]\d)\./,
  /^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./,
  /^169\.254\./,
  /^172\.(?:1[6-9]|2\d|3[01])\./,
  /^192\.(?:168|0\.2)\./,
  /^198\.51\.100\./,
  /^203\.0\.113\./,
]
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/
/** Loopback, unspecified, Teredo, unique local, link-local and multicast addresses. */
const PRIVATE_IPV6 = /^(?:::1?$|2001:(?:0{1,4})?:|f[cd]|fe[89ab]|ff)/i
const MAPPED_IPV4 = /^::ffff:(?=[\d.]+$)/i

/** Whether the host of a URL is an IP address in a private, local or reserved network. */
export function isPrivateAddress(host: string): boolean {
  const mapped = host.replace(MAPPED_IPV4, '')
  if (IPV4.test(mapped)) return PRIVATE_IPV4.some((network) => network.test(mapped))
  return host.includes(':') && PRIVATE_IPV6.test(host)
}

/** A name of a Service: one label, or one that ends in the domain of Services. */
const SERVICE = /^(?!localhost$)[a-z0-9-]*[a-z][a-z0-9-]*$|\.svc(?:\.cluster\.local)?$|\.cluster\.local$/i

/** Whether the host of a URL is known to be at a private address: by its address, or by the name of a Service. */
export const isInsideCluster = (host: string): boolean => SERVICE.test(host) || isPrivateAddress(host)

const NEVER_REMOTE_IPV4 = /^(?:0|127|169\.254)\./
const NEVER_REMOTE_IPV6 = /^(?:::1?$|fe[89ab])/i
const NEVER_REMOTE_NAMES =
  /(^|\.)(localhost|kubernetes\.default(\.svc(\.cluster\.local)?)?|metadata\.google\.internal)$/i
const PRIVATE_REMOTE_IPV4 = /^(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\./
const PRIVATE_REMOTE_IPV6 = /^f[cd]/i
const PRIVATE_REMOTE_NAMES = /(^|\.)cluster\.local$/i

/** What the operator does with a remote server at the host: refuse it, take it where private ones are allowed, take it. */
export function remoteHost(host: string): 'never' | 'private' | 'public' {
  const mapped = host.replace(MAPPED_IPV4, '')
  const isAt = (ipv4: RegExp, ipv6: RegExp) =>
    IPV4.test(mapped) ? ipv4.test(mapped) : host.includes(':') && ipv6.test(host)
  if (isAt(NEVER_REMOTE_IPV4, NEVER_REMOTE_IPV6) || NEVER_REMOTE_NAMES.test(host)) return 'never'
  const isPrivate = isAt(PRIVATE_REMOTE_IPV4, PRIVATE_REMOTE_IPV6) || PRIVATE_REMOTE_NAMES.test(host)
  return isPrivate ? 'private' : 'public'
}
