import ipaddr from 'ipaddr.js'

type Network = ReturnType<typeof ipaddr.parseCIDR>
const networks = (...texts: string[]): Network[] => texts.map((text) => ipaddr.parseCIDR(text))

/** Private, local and reserved networks. The operator's HTTP clients connect to them only where a setting allows it. */
const PRIVATE = networks(
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.2.0/24', '192.168.0.0/16', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/128', '::1/128', '2001::/32', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
)

/** Whether the host may be an IP address: IPv4 begins with a digit, IPv6 has a colon, most host names have neither. */
const mayBeAddress = (host: string): boolean => /^\d/.test(host) || host.includes(':')

/** Whether the host of a URL is an IP address in one of the networks; an IPv4 address may be written as IPv6. */
function isIn(all: readonly Network[], host: string): boolean {
  if (!mayBeAddress(host)) return false
  if (!ipaddr.IPv4.isValidFourPartDecimal(host) && !ipaddr.IPv6.isValid(host)) return false
  const address = ipaddr.process(host)
  return all.some(([network, length]) => network.kind() === address.kind() && address.match(network, length))
}

/** Whether the host of a URL is an IP address in a private, local or reserved network. */
export const isPrivateAddress = (host: string): boolean => isIn(PRIVATE, host)

const THIS_MACHINE = networks('0.0.0.0/8', '127.0.0.0/8', '::/128', '::1/128')

/** Whether an IP address is a loopback or unspecified address, which leads to this machine. */
export const isThisMachine = (address: string): boolean => isIn(THIS_MACHINE, address)

/** The host name of a Service: a single label, or a name that ends in `.svc` or `.cluster.local`. */
const SERVICE = /^[0-9-]*[a-z][a-z0-9-]*$|\.svc(?:\.cluster\.local)?$|\.cluster\.local$/i

/** Whether the host of a URL is known to be at a private address: by its address, or by the name of a Service. */
export const isInsideCluster = (host: string): boolean =>
  (SERVICE.test(host) && !/^localhost$/i.test(host)) || isPrivateAddress(host)

/**
 * Names that are certainly public. A Service is reached as `<name>.<namespace>` too, and a namespace such as `dev` may
 * be a top-level domain; so the list is short, and the domain of a country counts only after two labels.
 */
const OF_INTERNET = /\.(?:com|net|org|edu|gov)$|\.[^.]+\.[a-z]{2}$/i

/** Whether the host of a URL is certainly on the internet. */
export const isPublicHost = (host: string): boolean =>
  mayBeAddress(host) && ipaddr.isValid(host) ? !isPrivateAddress(host) : OF_INTERNET.test(host)

const NEVER_REMOTE = networks('0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '::/128', '::1/128', 'fe80::/10')
const NEVER_REMOTE_NAMES =
  /(^|\.)(localhost|kubernetes\.default(\.svc(\.cluster\.local)?)?|metadata\.google\.internal)$/i
const PRIVATE_REMOTE = networks('10.0.0.0/8', '192.168.0.0/16', '172.16.0.0/12', 'fc00::/7')
const PRIVATE_REMOTE_NAMES = /(^|\.)cluster\.local$/i

/** When the operator connects to a remote server: `never`; `private`: only if a setting allows it; `public`: always. */
export function remoteHost(host: string): 'never' | 'private' | 'public' {
  if (isIn(NEVER_REMOTE, host) || NEVER_REMOTE_NAMES.test(host)) return 'never'
  return isIn(PRIVATE_REMOTE, host) || PRIVATE_REMOTE_NAMES.test(host) ? 'private' : 'public'
}
