import { isInsideCluster, isLoopback, isPrivateAddress, parseUrl } from '../rule/index.ts'
import type { Connecting } from './target.ts'

/** Names for documentation, by RFC 2606 or by their look, such as example.okta.com: there is no real issuer. */
const FOR_DOCUMENTATION = /(?:^|\.)(?:example(?:\.|$)|invalid$)/i

/** Why no request is sent to an address; undefined when it may be. */
export function whyNotAsked(text: string, { http }: Pick<Connecting, 'http'>): string | undefined {
  const url = parseUrl(text)
  const isWeb = url !== undefined && /^https?$/.test(url.scheme) && url.host !== '' && URL.canParse(text)
  if (!isWeb) return 'not an absolute URL'
  if (url.hasUserInfo) return 'has a user name in it'
  if (url.scheme === 'http' && !http && !isLocal(new URL(text)))
    return 'plain http, which its configuration does not allow'
  return FOR_DOCUMENTATION.test(url.host) ? 'a name for documentation' : undefined
}

/** Whether a URL is on this machine; requests to it need no consent. */
export const isLocal = (url: URL): boolean => isLoopback(url.hostname.replace(/^\[(.*)\]$/, '$1'))

/** Whether a URL names this machine or an address of a private network. */
export const isPrivate = (url: URL): boolean =>
  isLocal(url) || isPrivateAddress(url.hostname.replace(/^\[(.*)\]$/, '$1'))

/** Whether the name is one that only the cluster resolves. */
export const isInCluster = (url: URL): boolean => isInsideCluster(url.hostname) && !isLocal(url)
