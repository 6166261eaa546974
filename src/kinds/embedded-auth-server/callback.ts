import { type KnownFailure, parseUrl, shortQuote, withoutEnd } from '../../rule/index.ts'
import { authorizationField } from './authorization-host.ts'
import { isUnreadable, type Provider, type Server } from './effective.ts'

/** The path at which releases serve the login callback, on every host that is routed to the pod. */
const CALLBACK_PATH = '/oauth/callback'

/** The callback URL that releases use for a provider without `redirectUri`. */
export const defaultCallback = (resourceUrl: string): string => withoutEnd(resourceUrl, '/') + CALLBACK_PATH

/**
 * Whether releases do not serve the login callback at this URL, whatever its query; false when it is not an http(s) URL
 * with a host. Nor is a callback below the path of the authorization endpoint missed: `auth-server-url-without-path`
 * says that the Ingress has to remove that path.
 */
export const missesCallback = (server: Server, url: string): boolean =>
  originOf(url) !== undefined &&
  ![CALLBACK_PATH, pathOf(defaultCallback(server[authorizationField(server)] ?? ''))].includes(plainPath(url))

const plainPath = (url: string): string => pathOf(url).split('?', 1)[0] ?? ''

/** Whether an absolute URL has a path, other than the root. */
export const hasPath = (url: string): boolean => originOf(url) !== undefined && !/^\/*$/.test(pathOf(url))

/**
 * A callback URL that works, because it is at the host of the authorization endpoint; undefined when that endpoint
 * has no http(s) URL.
 */
export function workingCallback(server: Server): string | undefined {
  const origin = originOf(server[authorizationField(server)] ?? '')
  return origin && origin + CALLBACK_PATH
}

/**
 * The field with the settings of a provider (`oidcConfig` or `oauth2Config`), if the settings lack `redirectUri`;
 * undefined when they have it, when they are missing, or when they have a wrong JSON type.
 */
export function withoutCallback(provider: Provider | undefined): 'oidcConfig' | 'oauth2Config' | undefined {
  const oidcConfig = provider?.oidcConfig
  const oauth2Config = provider?.oauth2Config
  const field = oidcConfig === undefined ? 'oauth2Config' : 'oidcConfig'
  const config = oidcConfig ?? oauth2Config
  if (config === undefined) return undefined
  return !Object.hasOwn(config, 'redirectUri') || config.redirectUri === '' ? field : undefined
}

/** The name of a provider for messages; undefined when the name has a wrong JSON type. */
export const providerText = (provider: Provider): string | undefined => {
  if (isUnreadable(provider, 'name')) return undefined
  return provider.name === undefined ? 'the provider' : shortQuote(provider.name)
}

/** `https://host:port` of an http(s) URL, without user information. */
export function originOf(url: string): string | undefined {
  const parsed = parseUrl(url)
  if (parsed === undefined || parsed.host === '') return undefined
  const { scheme, host, port } = parsed
  if (scheme !== 'http' && scheme !== 'https') return undefined
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}${port === '' ? '' : `:${port}`}`
}

/** The path of a URL with its query, as written and without the fragment; empty when nothing follows the host. */
function pathOf(url: string): string {
  const [plain = ''] = url.split('#', 1)
  const authority = plain.indexOf('//') + 2
  const end = /[/?]/.exec(plain.slice(authority))?.index
  return end === undefined ? '' : plain.slice(authority + end)
}

/** The known failure when the callback of a login has a path that releases do not serve. */
export const CALLBACK_NOT_SERVED: KnownFailure = {
  symptom:
    'every login ends at the callback with 401 "authorization header required" or 404, after the identity provider has let the user in',
  reportedBy: 'nobody',
  consequence: 'denies everyone',
}
