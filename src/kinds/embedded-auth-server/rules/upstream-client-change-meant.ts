import { advice, defineRule, remembered } from '../../../rule/index.ts'
import { okta, withOidcConfig, without } from '../examples.ts'
import { byName, isUnreadable, requestedScopes } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const NEW_CLIENT =
  'changes, so a new client is registered, and the refresh tokens of the old one end with invalid_grant'
const unregistered = without(okta.oidcConfig ?? {}, 'clientId', 'clientSecretRef')
const registered = { ...unregistered, dcrConfig: {}, scopes: ['openid', 'offline_access'] }

export const upstreamClientChangeMeant = defineRule({
  id: 'upstream-client-change-meant',
  on: EmbeddedAuthServer,
  when: 'change',
  severity: 'warning',
  summary:
    'A change of the scopes or the redirect URI beside `dcrConfig` is meant for users who are logged in.',
  why: 'The dynamic registration is kept by these two: after a change the server registers a new client, and stored refresh tokens belong to the old one. Users have to log in again.',
  failure: {
    symptom:
      'after a change, refreshes of upstream tokens fail with "invalid_grant" until users log in again',
    reportedBy: 'nobody',
    consequence: 'degrades',
    releases: 'from 0.27 on',
    threads: ['stacklok/toolhive#6508'],
  },
  sources: ['decision 3', 'decision 21'],
  *check({ upstreamProviders = [] }, { path, old, memo }) {
    const stored = remembered(memo, byName, old()?.upstreamProviders)
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const earlier = stored.get(provider?.name)
      for (const type of ['oidcConfig', 'oauth2Config'] as const) {
        const [was, is] = [earlier?.[type], provider?.[type]]
        if (!earlier || !provider || was?.dcrConfig === undefined || is?.dcrConfig === undefined) continue
        const here = path.upstreamProviders.at(i)[type]
        const [before, after] = [requestedScopes(earlier, type), requestedScopes(provider, type)]
        if (before && after && setOf(before) !== setOf(after)) yield advice(here.scopes, NEW_CLIENT)
        const areReadable = !isUnreadable(was, 'redirectUri') && !isUnreadable(is, 'redirectUri')
        if (areReadable && (was.redirectUri ?? '') !== (is.redirectUri ?? ''))
          yield advice(here.redirectUri, NEW_CLIENT)
      }
    }
  },
  examples: {
    'the same scopes in another order': {
      value: withOidcConfig({ ...registered, scopes: ['offline_access', 'openid'] }),
      old: withOidcConfig(registered),
    },
    'the scopes by default, written': {
      value: withOidcConfig(registered),
      old: withOidcConfig(without(registered, 'scopes')),
    },
    'other scopes of a client that was registered in advance': {
      value: withOidcConfig({ ...okta.oidcConfig, scopes: ['openid'] }),
      old: withOidcConfig({ ...okta.oidcConfig, scopes: ['openid', 'email'] }),
    },
    'one more scope, and a redirect URI': {
      value: withOidcConfig({
        ...registered,
        scopes: ['openid', 'offline_access', 'email'],
        redirectUri: 'https://auth.example.com/oauth/callback',
      }),
      old: withOidcConfig(registered),
      findings: [
        `upstreamProviders[0].oidcConfig.scopes: ${NEW_CLIENT}`,
        `upstreamProviders[0].oidcConfig.redirectUri: ${NEW_CLIENT}`,
      ],
    },
  },
})

const setOf = (scopes: readonly (string | undefined)[]): string => [...new Set(scopes)].toSorted().join(' ')
