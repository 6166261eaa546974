import type { Static } from 'typebox'
import type { Path } from '../../rule/path.ts'
import { compilePattern, PATTERNS } from '../patterns.ts'
import type { Server } from './effective.ts'
import type { EmbeddedAuthServer } from './schema.ts'

type PlacedUrl = readonly [Path<string>, string]
type ServerPath = Path<Static<typeof EmbeddedAuthServer>>

const ANY_URL = compilePattern(PATTERNS.url.ecmaScript)
const HTTPS_URL = compilePattern(PATTERNS.https.ecmaScript)
const FILLED = /^[^]/

/** The endpoints of every provider that may be http or https: those that hold to their pattern. */
export function* upstreamEndpoints({ upstreamProviders }: Server, path: ServerPath): Generator<PlacedUrl> {
  for (const [i, provider] of (upstreamProviders ?? []).entries()) {
    const { oauth2Config, oidcConfig } = path.upstreamProviders.at(i)
    const oauth2 = provider?.oauth2Config
    const oidc = provider?.oidcConfig
    yield* placed(oauth2Config.authorizationEndpoint, oauth2?.authorizationEndpoint, ANY_URL)
    yield* placed(oauth2Config.tokenEndpoint, oauth2?.tokenEndpoint, ANY_URL)
    yield* placed(oauth2Config.userInfo.endpointUrl, oauth2?.userInfo?.endpointUrl, ANY_URL)
    yield* placed(oidcConfig.userInfoOverride.endpointUrl, oidc?.userInfoOverride?.endpointUrl, ANY_URL)
  }
}

/** Issuers and redirect URIs of every provider; not those that fail their pattern or are empty. */
export function* upstreamIdentifiers({ upstreamProviders }: Server, path: ServerPath): Generator<PlacedUrl> {
  for (const [i, provider] of (upstreamProviders ?? []).entries()) {
    const { oauth2Config, oidcConfig } = path.upstreamProviders.at(i)
    yield* placed(oidcConfig.issuerUrl, provider?.oidcConfig?.issuerUrl, HTTPS_URL)
    yield* placed(oidcConfig.redirectUri, provider?.oidcConfig?.redirectUri, FILLED)
    yield* placed(oauth2Config.redirectUri, provider?.oauth2Config?.redirectUri, FILLED)
  }
}

function* placed(
  path: Path<string>,
  url: string | undefined,
  pattern: { test(text: string): boolean },
): Generator<PlacedUrl> {
  if (url !== undefined && pattern.test(url)) yield [path, url]
}
