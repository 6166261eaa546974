import { BlockList, isIP } from 'node:net'

/** The networks to which the operator's HTTP clients do not connect on their own: private, local and reserved ones. */
const NETWORKS = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::1/128',
  '2001::/32',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
] as const

const PRIVATE = new BlockList()
for (const network of NETWORKS) {
  const [address, length] = network.split('/')
  if (address !== undefined) PRIVATE.addSubnet(address, Number(length), isIP(address) === 4 ? 'ipv4' : 'ipv6')
}

/** Whether the host of a URL is an IP address in a private, local or reserved network. */
export function isPrivateAddress(host: string): boolean {
  const version = isIP(host)
  return version !== 0 && PRIVATE.check(host, version === 4 ? 'ipv4' : 'ipv6')
}

/** A name of a Service: one label, or one that ends in the domain of Services. */
const SERVICE = /^[a-z0-9-]+$|\.svc(?:\.cluster\.local)?$|\.cluster\.local$/i

/** Whether the host of a URL is known to be at a private address: by its address, or by the name of a Service. */
export function isInsideCluster(host: string): boolean {
  return isIP(host) === 0 ? SERVICE.test(host) && !/^localhost$/i.test(host) : isPrivateAddress(host)
}
