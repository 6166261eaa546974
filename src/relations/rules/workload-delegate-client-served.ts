import type { Static } from 'typebox'
import {
  advice,
  type Cluster,
  defineRule,
  end,
  type FieldError,
  namesText,
  nameText,
  type ObjectName,
  type Path,
  pathTo,
  relatedTo,
  shortQuote,
  withoutUserInfo,
} from '../../rule/index.ts'
import { agent, assertionIssuer } from '../../kinds/embedded-auth-server/examples.ts'
import {
  assertionPolicies,
  delegateClients,
  spiffeClients,
} from '../../kinds/embedded-auth-server/inbound-grants.ts'
import type { Server } from '../../kinds/embedded-auth-server/effective.ts'
import {
  type EmbeddedAuthServer,
  MCPExternalAuthConfig,
  MCPRemoteProxy,
  MCPServer,
} from '../../kinds/schemas.ts'
import {
  authServer,
  configWith,
  type HeldIssuing,
  issuingBeside,
  issuingHere,
  ofHolders,
  servedBy,
  serving,
  SINGLE_PROVIDER_KINDS,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const ID = 'workload-delegate-client-served'

const SERVER = pathTo<Static<typeof EmbeddedAuthServer>>(['spec', 'embeddedAuthServer'])
const resourceUrl = 'https://mcp.example.com'
const delegating = (...clients: (typeof agent)[]) =>
  configWith('auth', 'embeddedAuthServer', {
    ...authServer('okta'),
    ...(clients.length > 0 && { delegateClients: clients }),
  })

const asserting = (allowed: string, accepted: string) =>
  configWith('auth', 'embeddedAuthServer', {
    ...authServer('okta'),
    trustedIssuers: [assertionIssuer(allowed, accepted)],
  })

/** A proxy with this URL whose authorization server is `example`. */
const proxyAt = (url: string) => servedBy('example', serving({ audience: url, resourceUrl: url }).spec)

export const workloadDelegateClientServed = defineRule({
  id: ID,
  on: [MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  needs: ['oidcConfigRef', 'embeddedAuthServer'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
  severity: 'warning',
  summary:
    'The delegate clients and subjects of assertions of the authorization server that a workload names ask for its `resourceUrl` and for scopes that it advertises, and no assertion is made for the workload.',
  why: 'Tokens are issued for this workload alone and with these scopes only: releases refuse the configuration for the workload. An access token for the workload must not pass as an assertion.',
  failure: {
    symptom:
      'the workload is not reconciled: a scope of "delegate_clients" is not in the supported scopes, an audience "is not in allowed_audiences", or one of assertions "must not also be a configured resource audience"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'delegate clients from 0.43 on, assertions from 0.45 on',
  },
  sources: ['decision 3'],
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      yield* refusedAt(resource, self, cluster)
      return
    }
    for (const issuing of issuingBeside(resource as Workload, self, cluster)) {
      const { server, to, scopes, resourceUrl, at } = issuing
      if (to === undefined) continue
      const advertised = scopes && new Set(scopes)
      for (const { value, place } of spiffeClients(server, SERVER)) {
        const scope = value.scopes?.find((scope) => scope && advertised?.has(scope) === false)
        if (scope)
          yield relatedTo(
            advice(
              at.scopes,
              `add ${shortQuote(scope)} of a SPIFFE client of ${nameText(to)}, or remove it there: the operator refuses a scope that is not advertised`,
            ),
            [end(to, place().scopes, `has ${shortQuote(scope)}`)],
            () => [[ID, to.name, 'scopes', scope]],
          )
      }
      for (const { value, place } of delegateClients(server, SERVER)) {
        const scope = value.scopes?.find((scope) => scope && advertised?.has(scope) === false)
        const who = `a delegate client of ${nameText(to)}`
        if (scope)
          yield relatedTo(
            advice(
              at.scopes,
              `add ${shortQuote(scope)} of ${who}, or remove it there: the operator refuses a scope that is not advertised`,
            ),
            [end(to, place().scopes, `has ${shortQuote(scope)}`)],
            () => [[ID, to.name, 'scopes', scope]],
          )
        const audience = value.audiences?.find((audience) => audience && audience !== resourceUrl)
        if (audience && resourceUrl !== undefined)
          yield relatedTo(
            advice(
              at.resourceUrl,
              `is the only audience here; the operator refuses ${shortQuote(audience)} of ${who}: write the same there`,
            ),
            [end(to, place().audiences, `has ${shortQuote(audience)}`)],
            () => [[ID, to.name, 'audiences', audience]],
          )
      }
      if (resourceUrl === undefined) continue
      for (const { value, place } of assertionPolicies(server, SERVER)) {
        const other = (value.subjectBindings ?? [])
          .flatMap((binding) => binding?.allowedResources ?? [])
          .find((resource) => resource && resource !== resourceUrl && !resource.includes('#'))
        if (other)
          yield relatedTo(
            advice(
              at.resourceUrl,
              `is the only resource here; releases refuse ${shortQuote(withoutUserInfo(other))} of an assertion policy of ${nameText(to)}: write the same there`,
            ),
            [end(to, place().subjectBindings, 'allows another resource')],
            () => [[ID, to.name, 'resources', other]],
          )
        if (value.acceptedAudiences?.includes(resourceUrl))
          yield relatedTo(
            advice(
              at.resourceUrl,
              `is an accepted audience of assertions in ${nameText(to)}, which releases refuse; name the token endpoint or the issuer there`,
            ),
            [end(to, place().acceptedAudiences, 'has the same URL')],
            () => [[ID, to.name, 'accepted', resourceUrl]],
          )
      }
    }
  },
  examples: {
    'a client of this workload': {
      kind: 'MCPServer',
      value: serving({ audience: resourceUrl, resourceUrl }),
      others: [delegating(agent)],
    },
    'no clients': { kind: 'MCPRemoteProxy', value: serving({}), others: [delegating()] },
    'a client of a proxy': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: delegating(agent).spec },
      others: [proxyAt(resourceUrl)],
    },
    'an assertion for the authorization server, about this workload': {
      kind: 'MCPServer',
      value: serving({ audience: resourceUrl, resourceUrl }),
      others: [asserting(resourceUrl, 'https://auth.example.com')],
    },
    'a scope that is not advertised': {
      kind: 'MCPServer',
      value: serving({ audience: resourceUrl, resourceUrl }),
      others: [delegating({ ...agent, scopes: ['openid', 'tools'] })],
      findings:
        'spec.oidcConfigRef.scopes: add "tools" of a delegate client of MCPExternalAuthConfig "auth", or remove it there: the operator refuses a scope that is not advertised',
    },
    'another audience': {
      kind: 'MCPRemoteProxy',
      value: serving({ audience: resourceUrl, resourceUrl }),
      others: [delegating({ ...agent, audiences: ['https://jira.example.com'] })],
      findings:
        'spec.oidcConfigRef.resourceUrl: is the only audience here; the operator refuses "https://jira.example.com" of a delegate client of MCPExternalAuthConfig "auth": write the same there',
    },
    'a slash too many, and an assertion for the workload': {
      kind: 'MCPServer',
      value: serving({ audience: resourceUrl, resourceUrl }),
      others: [asserting(`${resourceUrl}/`, resourceUrl)],
      findings: [
        'spec.oidcConfigRef.resourceUrl: is the only resource here; releases refuse "https://mcp.example.com/" of an assertion policy of MCPExternalAuthConfig "auth": write the same there',
        'spec.oidcConfigRef.resourceUrl: is an accepted audience of assertions in MCPExternalAuthConfig "auth", which releases refuse; name the token endpoint or the issuer there',
      ],
    },
    'a scope and an audience that no proxy has': {
      kind: 'MCPExternalAuthConfig',
      value: {
        spec: delegating({ ...agent, scopes: ['openid', 'tools'], audiences: ['https://jira.example.com'] })
          .spec,
      },
      others: [proxyAt(resourceUrl)],
      findings: [
        'spec.embeddedAuthServer.delegateClients[0].scopes: has "tools", which oidcConfigRef.scopes of MCPRemoteProxy "wiki" lacks: the operator refuses it; add it there or remove it here',
        'spec.embeddedAuthServer.delegateClients[0].audiences: has "https://jira.example.com": the operator refuses MCPRemoteProxy "wiki", whose resourceUrl is the only audience; write that',
      ],
    },
    'an assertion about another resource, and one for a proxy': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: asserting(`${resourceUrl}/`, resourceUrl).spec },
      others: [proxyAt(resourceUrl)],
      findings: [
        'spec.embeddedAuthServer.trustedIssuers[0].jwtBearerGrant.subjectBindings: has "https://mcp.example.com/": releases refuse MCPRemoteProxy "wiki", whose resourceUrl is the only resource; write that',
        'spec.embeddedAuthServer.trustedIssuers[0].jwtBearerGrant.acceptedAudiences: has the resourceUrl of MCPRemoteProxy "wiki", which releases refuse; name the token endpoint or the issuer',
      ],
    },
  },
})

type Asked = ReadonlyMap<string, () => Path<unknown>>

/** The values of these lists, each with the place of the first list that has it. */
function firstPlaces(
  lists: readonly (readonly [readonly (string | undefined)[] | undefined, () => Path<unknown>])[],
): Asked {
  const found = new Map<string, () => Path<unknown>>()
  for (const [values = [], place] of lists)
    for (const value of values) if (value && !found.has(value)) found.set(value, place)
  return found
}

/** What the clients and assertion policies of the authorization server ask for. */
function askedOf(server: Server) {
  const clients = delegateClients(server, SERVER)
  const policies = assertionPolicies(server, SERVER)
  return {
    scopes: firstPlaces(
      [...spiffeClients(server, SERVER), ...clients].map(({ value, place }) => [
        value.scopes,
        () => place().scopes,
      ]),
    ),
    audiences: firstPlaces(clients.map(({ value, place }) => [value.audiences, () => place().audiences])),
    resources: firstPlaces(
      policies.map(({ value, place }) => [
        (value.subjectBindings ?? [])
          .flatMap((binding) => binding?.allowedResources ?? [])
          .filter((resource) => resource?.includes('#') !== true),
        () => place().subjectBindings,
      ]),
    ),
    accepted: firstPlaces(
      policies.map(({ value, place }) => [value.acceptedAudiences, () => place().acceptedAudiences]),
    ),
  }
}

/** The most scopes of one workload that get a finding. */
const MOST_SCOPES = 3

/**
 * What releases refuse for a workload that names the authorization server. Ends early: one server may have many clients,
 * and many workloads that name it.
 */
function* refusedFor(asked: ReturnType<typeof askedOf>, { scopes, resourceUrl }: HeldIssuing) {
  const advertised = asked.scopes.size === 0 ? undefined : scopes && new Set(scopes)
  let left = advertised === undefined ? 0 : MOST_SCOPES
  for (const [scope, place] of asked.scopes) {
    if (left === 0) break
    if (advertised?.has(scope) !== false) continue
    left -= 1
    yield { what: 'scopes', value: scope, place } as const
  }
  if (resourceUrl === undefined) return
  for (const what of ['audiences', 'resources'] as const)
    for (const [value, place] of asked[what]) {
      if (value === resourceUrl) continue
      yield { what, value, place } as const
      break
    }
  const place = asked.accepted.get(resourceUrl)
  if (place !== undefined) yield { what: 'accepted', value: resourceUrl, place } as const
}

const TEXTS = {
  scopes: (value: string, who: string) =>
    `has ${value}, which oidcConfigRef.scopes of ${who} lacks: the operator refuses it; add it there or remove it here`,
  audiences: (value: string, who: string) =>
    `has ${value}: the operator refuses ${who}, whose resourceUrl is the only audience; write that`,
  resources: (value: string, who: string) =>
    `has ${value}: releases refuse ${who}, whose resourceUrl is the only resource; write that`,
  accepted: (_: string, who: string) =>
    `has the resourceUrl of ${who}, which releases refuse; name the token endpoint or the issuer`,
}

/** The warnings at an MCPExternalAuthConfig, for the workloads that name it. */
function* refusedAt(resource: object, self: ObjectName, cluster: Cluster): Iterable<FieldError> {
  const held = issuingHere(resource, self, cluster)
  const [first] = held
  if (first === undefined) return
  const asked = askedOf(first.server)
  const refused = held.flatMap((each) =>
    Array.from(refusedFor(asked, each), (found) => ({ ...found, holder: each.holder })),
  )
  for (const group of Map.groupBy(refused, ({ what, value }) => `${what} ${value}`).values()) {
    const holders = group.map(({ holder }) => holder)
    for (const { what, value, place } of group.slice(0, 1)) {
      const detail = TEXTS[what](shortQuote(withoutUserInfo(value)), namesText(holders, 2))
      const { scopes, resourceUrl } = WORKLOAD.spec.oidcConfigRef
      yield ofHolders(advice(place(), detail), {
        holders,
        at: what === 'scopes' ? scopes : resourceUrl,
        text: what === 'scopes' ? 'lacks the scope' : 'is the only one here',
        cause: [ID, self.name, what, value],
      })
    }
  }
}
