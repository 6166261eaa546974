import type { Static } from 'typebox'
import type { Path } from '../../rule/path.ts'
import { compilePattern, PATTERNS } from '../patterns.ts'
import type { Server } from './effective.ts'
import type { EmbeddedAuthServer } from './schema.ts'

type ServerPath = Path<Static<typeof EmbeddedAuthServer>>

/** A URL and where it stands; the path is made only when there is something to say. */
export interface PlacedUrl {
  readonly text: string
  readonly place: () => Path<string>
}

const ANY_URL = compilePattern(PATTERNS.url.ecmaScript)
const HTTPS_URL = compilePattern(PATTERNS.https.ecmaScript)
const FILLED = /^[^]/

/** The endpoints of every provider that may be http or https: those that hold to their pattern. */
export function upstreamEndpoints({ upstreamProviders }: Server, path: ServerPath): PlacedUrl[] {
  return (upstreamProviders ?? []).flatMap((provider, i) => {
    const { oauth2Config, oidcConfig } = provider ?? {}
    const oauth2 = () => path.upstreamProviders.at(i).oauth2Config
    const override = () => path.upstreamProviders.at(i).oidcConfig.userInfoOverride
    return [
      ...placed(oauth2Config?.authorizationEndpoint, ANY_URL, () => oauth2().authorizationEndpoint),
      ...placed(oauth2Config?.tokenEndpoint, ANY_URL, () => oauth2().tokenEndpoint),
      ...placed(oauth2Config?.userInfo?.endpointUrl, ANY_URL, () => oauth2().userInfo.endpointUrl),
      ...placed(oidcConfig?.userInfoOverride?.endpointUrl, ANY_URL, () => override().endpointUrl),
    ]
  })
}

/** Issuers and redirect URIs of every provider; not those that fail their pattern or are empty. */
export function upstreamIdentifiers({ upstreamProviders }: Server, path: ServerPath): PlacedUrl[] {
  return (upstreamProviders ?? []).flatMap((provider, i) => {
    const { oauth2Config, oidcConfig } = provider ?? {}
    const here = () => path.upstreamProviders.at(i)
    return [
      ...placed(oidcConfig?.issuerUrl, HTTPS_URL, () => here().oidcConfig.issuerUrl),
      ...placed(oidcConfig?.redirectUri, FILLED, () => here().oidcConfig.redirectUri),
      ...placed(oauth2Config?.redirectUri, FILLED, () => here().oauth2Config.redirectUri),
    ]
  })
}

const NONE: readonly PlacedUrl[] = []

function placed(
  text: string | undefined,
  pattern: { test(text: string): boolean },
  place: () => Path<string>,
): readonly PlacedUrl[] {
  return text !== undefined && pattern.test(text) ? [{ text, place }] : NONE
}
