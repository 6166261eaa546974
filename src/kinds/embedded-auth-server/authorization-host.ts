import { type KnownFailure, isAbsent, parseUrl } from '../../rule/index.ts'
import type { Server } from './effective.ts'

/** The host of the authorization endpoint, which browsers visit; empty when its URL has none. */
export const authorizationHost = (server: Server): string => hostOf(server[authorizationField(server)])

/** The field that determines the URL of the authorization endpoint for browsers. */
export const authorizationField = (server: Server): 'issuer' | 'authorizationEndpointBaseUrl' =>
  isAbsent(server, 'authorizationEndpointBaseUrl') || server.authorizationEndpointBaseUrl === ''
    ? 'issuer'
    : 'authorizationEndpointBaseUrl'

/** The host of a URL in lower case. */
export const hostOf = (url: string | undefined): string => parseUrl(url ?? '')?.host.toLowerCase() ?? ''

/** The known failure when a login returns to another host than the one where it began. */
export const LOGIN_RETURNS_ELSEWHERE: KnownFailure = {
  symptom:
    'every login in a browser ends with an error at /oauth/callback; the log warns that the redirect_uri host differs from the browser-facing authorize host',
  reportedBy: 'nobody',
  consequence: 'denies everyone',
  releases: 'from 0.55 on',
}
