import { isInsideCluster, isLoopback, isPrivateAddress, parseUrl } from '../rule/index.ts'
import type { Connecting } from './target.ts'

/** Host names for documentation, reserved by RFC 2606 or similar, such as example.okta.com: no real issuer is there. */
const FOR_DOCUMENTATION = /(?:^|\.)(?:example(?:\.|$)|invalid$)/i

/** Why `probe` sends no request to an address; undefined when it may send one. */
export function whyNotAsked(text: string, { http }: Pick<Connecting, 'http'>): string | undefined {
  const url = parseUrl(text)
  const isWeb = url !== undefined && /^https?$/.test(url.scheme) && url.host !== '' && URL.canParse(text)
  if (!isWeb) return 'not an absolute URL'
  if (url.hasUserInfo) return 'has a user name in it'
  if (url.scheme === 'http' && !http && !isLocal(new URL(text)))
    return 'plain http, which its configuration does not allow'
  return FOR_DOCUMENTATION.test(url.host) ? 'a name for documentation' : undefined
}

/** Whether a URL is on this machine; requests to this machine need no consent of the user. */
export const isLocal = (url: URL): boolean => isLoopback(url.hostname.replace(/^\[(.*)\]$/, '$1'))

/** Whether a URL names this machine or an address of a private network. */
export const isPrivate = (url: URL): boolean =>
  isLocal(url) || isPrivateAddress(url.hostname.replace(/^\[(.*)\]$/, '$1'))

/** Whether only DNS inside the cluster can resolve the host name. */
export const isInCluster = (url: URL): boolean => isInsideCluster(url.hostname) && !isLocal(url)
