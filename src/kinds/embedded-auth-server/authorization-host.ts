import { isAbsent } from '../../rule/resource.ts'
import { parseUrl } from '../../rule/url.ts'
import type { Server } from './effective.ts'

/** The host of the authorization endpoint, to which browsers go; empty where it cannot be told. */
export const authorizationHost = (server: Server): string => hostOf(server[authorizationField(server)])

/** The field that gives the authorization endpoint. */
export const authorizationField = (server: Server): 'issuer' | 'authorizationEndpointBaseUrl' =>
  isAbsent(server, 'authorizationEndpointBaseUrl') || server.authorizationEndpointBaseUrl === ''
    ? 'issuer'
    : 'authorizationEndpointBaseUrl'

/** The host of a URL in lower case. */
export const hostOf = (url: string | undefined): string => parseUrl(url ?? '')?.host.toLowerCase() ?? ''
