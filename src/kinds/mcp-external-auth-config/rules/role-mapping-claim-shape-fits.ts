import { advice, compareReleases, defineRule, isAbsent, says, shortQuote } from '../../../rule/index.ts'
import {
  authServer,
  backend,
  frontsOf,
  gateway,
  mayHaveClaim,
  REACHED_KINDS,
} from '../../../relations/index.ts'
import { misfitText, TEXT_CLAIMS } from '../claim-shapes.ts'
import { mappingTo } from '../examples.ts'
import { factsAbout } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingClaimShapeFits = defineRule({
  id: 'role-mapping-claim-shape-fits',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  reads: [...REACHED_KINDS, 'VirtualMCPServer'],
  severity: 'warning',
  summary: 'A mapping looks for a value in a claim that is a list, and for a text in a claim that is a text.',
  why: 'CEL has no `in` for a text and no `contains` for a list: the evaluation fails, the mapping is skipped without a word, and the caller gets the fallback role.',
  failure: {
    symptom:
      'callers get the fallback role, or `no role mapping`; the log has `no such overload` at debug level',
    reportedBy: 'nobody',
    consequence: 'wrong identity',
    releases: '`claim` up to 0.48, `matcher` in all',
    threads: ['stacklok/toolhive#6305'],
  },
  sources: [says('2.4.1', 'roleClaim names the claim into which mappings with claim look.'), 'decision 15'],
  *check({ spec }, context) {
    const awsSts = spec?.awsSts
    if (awsSts === undefined) return
    const path = context.path.spec.awsSts
    const mappings = awsSts.roleMappings ?? []
    const { roleClaim } = awsSts
    const { cluster, self } = context
    // If tokens lack the claim, role-mapping-claim-available reports that, with another claim as the remedy.
    const isLacking = (claim: string) =>
      frontsOf(self.name, cluster).fronts.some(({ server }) => !mayHaveClaim(server, claim))
    if (
      roleClaim !== undefined &&
      TEXT_CLAIMS.has(roleClaim) &&
      mayMiss(roleClaim, cluster.release) &&
      mappings.some(hasClaim) &&
      !isLacking(roleClaim)
    ) {
      const later = roleClaim === 'scope' ? ', later only one that is the whole string' : ''
      yield advice(
        path.roleClaim,
        `${shortQuote(roleClaim)} is a string, not a list: up to release 0.48 no \`claim\` matches${later}; use \`matcher\` with claims.${roleClaim}`,
      )
    }
    for (const { index, verdict } of factsAbout(awsSts.roleMappings, context).notable) {
      if (verdict.ok && verdict.misfit !== undefined && !isLacking(verdict.misfit.claim))
        yield advice(
          path.roleMappings.at(index).matcher,
          misfitText(verdict.misfit, 'the mapping is skipped'),
        )
    }
  },
  examples: {
    'groups, which are a list': {
      value: mappingTo({ admin: { claim: 'admins' }, reader: { matcher: '"readers" in claims.groups' } }),
    },
    'texts that are compared': {
      value: mappingTo(
        {
          admin: { claim: 'admin' },
          staff: { matcher: 'claims.email.endsWith("@example.com")' },
          agent: { matcher: 'claims.azp in ["agent", "robot"]' },
          reader: { matcher: 'claims.scope.matches("(^| )read( |$)")' },
        },
        { roleClaim: 'roles' },
      ),
    },
    'a matcher that asks for the type first': {
      value: mappingTo({ admin: { matcher: 'type(claims.scope) == list && "admin" in claims.scope' } }),
    },
    'scopes that the tokens have elsewhere, which is another finding': {
      value: mappingTo(
        { admin: { claim: 'admin' }, reader: { matcher: '"read" in claims.scope' } },
        { roleClaim: 'scope' },
      ),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), backend('aws', 'example')],
    },
    'scopes, as `claim` and in a matcher': {
      value: mappingTo(
        { admin: { claim: 'admin' }, reader: { matcher: '"read" in claims.scope' } },
        { roleClaim: 'scope' },
      ),
      findings: [
        'spec.awsSts.roleClaim: "scope" is a string, not a list: up to release 0.48 no `claim` matches, later only one that is the whole string; use `matcher` with claims.scope',
        'spec.awsSts.roleMappings[1].matcher: claims.scope is a string, not a list, so `in` and exists() fail at run time: the mapping is skipped; write == or matches()',
      ],
    },
    'the client, as `claim`': {
      value: mappingTo({ agent: { claim: 'agent' } }, { roleClaim: 'azp' }),
      findings:
        'spec.awsSts.roleClaim: "azp" is a string, not a list: up to release 0.48 no `claim` matches; use `matcher` with claims.azp',
    },
    'each character of an address, and groups as a text': {
      value: mappingTo({
        admin: { matcher: 'claims["email"].exists(e, e == "ann@example.com")' },
        reader: { matcher: 'has(claims.groups) && claims.groups.contains("readers")' },
      }),
      findings: [
        'spec.awsSts.roleMappings[0].matcher: claims.email is a string, not a list, so `in` and exists() fail at run time: the mapping is skipped; write == or matches()',
        "spec.awsSts.roleMappings[1].matcher: claims.groups is a list, on which string functions fail at run time: the mapping is skipped; write '… in claims.groups'",
      ],
    },
  },
})

/** The first release known to treat a role claim that is a string as a list with this one item. */
const TAKES_STRING_FROM = '0.50'

/**
 * Whether mappings may not find their value in a role claim that is a string: in releases before TAKES_STRING_FROM, and
 * in all releases for `scope`, whose string contains several values.
 */
const mayMiss = (roleClaim: string, release: string | undefined): boolean =>
  roleClaim === 'scope' || release === undefined || compareReleases(release, TAKES_STRING_FROM) < 0

const hasClaim = (mapping: { readonly claim?: string | undefined } | undefined): boolean =>
  mapping !== undefined && !isAbsent(mapping, 'claim')
