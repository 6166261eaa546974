import type { Static } from 'typebox'
import type { Path } from '../../rule/index.ts'
import { compilePattern, PATTERNS } from '../patterns.ts'
import { mayBeTrue, type Server } from './effective.ts'
import type { EmbeddedAuthServer } from './schema.ts'

type ServerPath = Path<Static<typeof EmbeddedAuthServer>>

/** A URL in the settings of an embedded authorization server; `place` computes the path of its field. */
export interface PlacedUrl {
  readonly text: string
  readonly place: () => Path<string>
  /** The pattern for the URL in the schema, if any; a URL that does not match already has a schema error. */
  readonly pattern: { test(text: string): boolean } | undefined
  /** Whether a setting allows plain http for this URL. */
  readonly mayBeHttp?: boolean
}

const ANY_URL = compilePattern(PATTERNS.url.ecmaScript)
const HTTPS_URL = compilePattern(PATTERNS.https.ecmaScript)

/** Those endpoints of the upstream providers whose URL may begin with http as well as https. */
export function upstreamEndpoints(server: Server, path: ServerPath): PlacedUrl[] {
  const { upstreamProviders = [] } = server
  const found: PlacedUrl[] = []
  for (let i = 0; i < upstreamProviders.length; i++) {
    const { oauth2Config, oidcConfig } = upstreamProviders[i] ?? {}
    if (oauth2Config === undefined && oidcConfig?.userInfoOverride === undefined) continue
    const here = () => path.upstreamProviders.at(i)
    const { authorizationEndpoint, tokenEndpoint, userInfo } = oauth2Config ?? {}
    const http = [server, oauth2Config ?? {}].some((holder) => mayBeTrue(holder, 'insecureAllowHTTP'))
    add(found, ANY_URL, authorizationEndpoint, () => here().oauth2Config.authorizationEndpoint, http)
    add(found, ANY_URL, tokenEndpoint, () => here().oauth2Config.tokenEndpoint, http)
    add(found, ANY_URL, userInfo?.endpointUrl, () => here().oauth2Config.userInfo.endpointUrl)
    add(
      found,
      ANY_URL,
      oidcConfig?.userInfoOverride?.endpointUrl,
      () => here().oidcConfig.userInfoOverride.endpointUrl,
    )
  }
  return found
}

/** Issuers and redirect URIs of all providers. */
export function upstreamIdentifiers({ upstreamProviders = [] }: Server, path: ServerPath): PlacedUrl[] {
  const found: PlacedUrl[] = []
  for (let i = 0; i < upstreamProviders.length; i++) {
    const { oauth2Config, oidcConfig } = upstreamProviders[i] ?? {}
    const here = () => path.upstreamProviders.at(i)
    if (oidcConfig !== undefined) {
      add(found, HTTPS_URL, oidcConfig.issuerUrl, () => here().oidcConfig.issuerUrl)
      add(found, undefined, oidcConfig.redirectUri, () => here().oidcConfig.redirectUri)
    }
    if (oauth2Config !== undefined)
      add(found, undefined, oauth2Config.redirectUri, () => here().oauth2Config.redirectUri)
  }
  return found
}

/** Adds a URL to the list. Skips an empty URL: the schema refuses it, or it means that no URL is given. */
function add(
  found: PlacedUrl[],
  pattern: PlacedUrl['pattern'],
  text: string | undefined,
  place: () => Path<string>,
  mayBeHttp = false,
): void {
  if (text) found.push({ text, place, pattern, mayBeHttp })
}
