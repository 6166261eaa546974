import { advice, defineRule, type FieldError, type Path, shortQuote } from '../../../rule/index.ts'
import { authServer, gatewayOf, providersOf } from '../../../relations/index.ts'
import { agent } from '../../embedded-auth-server/examples.ts'
import { VirtualMCPServer } from '../schema.ts'

const STAFF = { groups: ['staff'], upstreamProviders: ['github'] }

export const upstreamFilterProviderExists = defineRule({
  id: 'upstream-filter-provider-exists',
  on: VirtualMCPServer,
  needs: ['authServerUpstreamFilter'],
  severity: 'warning',
  summary: '`authServerUpstreamFilter` names providers of `authServerConfig`, and never the first.',
  why: 'Every user logs in at the first provider, and its claims choose the others. Releases do not reconcile a VirtualMCPServer whose filter names another provider.',
  failure: {
    symptom: 'phase Failed, condition AuthServerConfigValidated: `spec.authServerUpstreamFilter: …`',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.55 on',
  },
  sources: ['decision 3'],
  *check({ spec }, { path }) {
    const filter = spec?.authServerUpstreamFilter
    if (filter === undefined) return
    const providers = providersOf(spec, 'authServerConfig')
    if (providers === undefined || (providers.complete && providers.names.length < 2)) {
      yield advice(
        path.spec.authServerUpstreamFilter,
        'needs `authServerConfig` with at least two upstream providers to choose from, or the API server refuses the resource; add them, or remove the filter',
      )
      return
    }
    if (!providers.complete) return
    const at = path.spec.authServerUpstreamFilter
    const misses = (names: readonly (string | undefined)[] | undefined, list: Path<readonly string[]>) =>
      wrongNames(providers.names, names ?? [], list)
    for (const [i, rule] of (filter.rules ?? []).entries())
      yield* misses(rule?.upstreamProviders, at.rules.at(i).upstreamProviders)
    yield* misses(filter.defaultUpstreams, at.defaultUpstreams)
  },
  examples: {
    'the second provider for some': {
      value: gatewayOf({
        authServerConfig: authServer('okta', 'github'),
        authServerUpstreamFilter: { rules: [STAFF], defaultUpstreams: [] },
      }),
    },
    'one provider': {
      value: gatewayOf({
        authServerConfig: authServer('okta'),
        authServerUpstreamFilter: { rules: [STAFF] },
      }),
      findings:
        'spec.authServerUpstreamFilter: needs `authServerConfig` with at least two upstream providers to choose from, or the API server refuses the resource; add them, or remove the filter',
    },
    'no provider, because clients get tokens without a login': {
      value: gatewayOf({
        authServerConfig: { issuer: 'https://auth.example.com', delegateClients: [agent] },
        authServerUpstreamFilter: { rules: [STAFF] },
      }),
      findings:
        'spec.authServerUpstreamFilter: needs `authServerConfig` with at least two upstream providers to choose from, or the API server refuses the resource; add them, or remove the filter',
    },
    'the first provider, and one that is not there': {
      value: gatewayOf({
        authServerConfig: authServer('okta', 'github'),
        authServerUpstreamFilter: {
          rules: [{ groups: ['staff'], upstreamProviders: ['gitlab'] }],
          defaultUpstreams: ['okta'],
        },
      }),
      findings: [
        'spec.authServerUpstreamFilter.rules[0].upstreamProviders[0]: no upstream provider is named "gitlab", so the VirtualMCPServer stays Failed; there is "github"',
        'spec.authServerUpstreamFilter.defaultUpstreams[0]: is the first provider, at which every user logs in; remove it',
      ],
    },
  },
})

/** Yields advice about each of `names` (in a filter) that is the name of the first upstream provider or of none. */
function* wrongNames(
  [first, ...others]: readonly string[],
  names: readonly (string | undefined)[],
  list: Path<readonly string[]>,
): Iterable<FieldError> {
  const known = new Set(others)
  for (const [i, name] of names.entries()) {
    if (name === undefined || known.has(name)) continue
    const there = others.slice(0, 5).map(shortQuote).join(', ')
    yield advice(
      list.at(i),
      name === first
        ? 'is the first provider, at which every user logs in; remove it'
        : `no upstream provider is named ${shortQuote(name)}, so the VirtualMCPServer stays Failed; there is ${there}`,
    )
  }
}
