import { defineRule, duplicate, invalid, parseDuration, parseUrl } from '../../../rule/index.ts'
import { granting } from '../examples.ts'
import { assertionPolicies } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const policy = {
  issuerRef: 'partner',
  maxAssertionAge: '5m',
  subjectBindings: [{ subject: 'ci', allowedResources: ['https://mcp.example.com'] }],
}
const accepting = (settings: object) =>
  granting({ jwtBearer: { issuerPolicies: [{ ...policy, ...settings }] } })

export const assertionPolicyAccepted = defineRule({
  id: 'assertion-policy-accepted',
  on: EmbeddedAuthServer,
  needs: ['trustedIssuers', 'inboundGrants'],
  severity: 'warning',
  summary:
    'A policy for assertions has a maximum age above zero, each subject once, and resources and audiences that are URLs with a host and without a fragment.',
  why: 'The operator refuses the configuration, the first two the API server already where its CRD has the rule.',
  failure: {
    symptom:
      'Valid=False with "max_assertion_age must be a positive duration", "duplicate subject" or "resource … is invalid"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.45 on',
  },
  sources: ['decision 3'],
  *check(server, { path }) {
    for (const { value, place } of assertionPolicies(server, path)) {
      const { maxAssertionAge: age, subjectBindings = [], acceptedAudiences = [] } = value
      if (age && (parseDuration(age) ?? 0n) <= 0n)
        yield invalid(
          place().maxAssertionAge,
          age,
          `must be a Go duration above zero, such as '5m', ${REFUSED}`,
        )
      const seen = new Set<string>()
      for (const [i, binding] of subjectBindings.entries()) {
        const { subject, allowedResources = [] } = binding ?? {}
        const here = () => place().subjectBindings.at(i)
        if (subject === '*')
          yield invalid(here().subject, subject, `must be one subject, not a wildcard, ${REFUSED}`)
        else if (subject && seen.has(subject))
          yield duplicate(
            here().subject,
            subject,
            `keep one binding for each subject, as the operator refuses two`,
          )
        if (subject) seen.add(subject)
        for (const [k, resource] of allowedResources.entries()) {
          if (resource && !isResource(resource))
            yield invalid(here().allowedResources.at(k), resource, NOT_A_URL)
        }
      }
      for (const [i, audience] of acceptedAudiences.entries()) {
        if (audience && !isResource(audience))
          yield invalid(place().acceptedAudiences.at(i), audience, NOT_A_URL)
      }
    }
  },
  examples: {
    'a policy': { value: accepting({ acceptedAudiences: ['https://auth.example.com/oauth/token'] }) },
    'no time at all': {
      value: accepting({ maxAssertionAge: '0s' }),
      findings:
        'inboundGrants.jwtBearer.issuerPolicies[0].maxAssertionAge: Invalid value: "0s": must be a Go duration above zero, such as \'5m\', or the operator refuses it',
    },
    'a subject twice, and any subject': {
      value: accepting({
        subjectBindings: [
          ...policy.subjectBindings,
          ...policy.subjectBindings,
          { subject: '*', allowedResources: ['https://mcp.example.com'] },
        ],
      }),
      findings: [
        'inboundGrants.jwtBearer.issuerPolicies[0].subjectBindings[1].subject: Duplicate value: "ci": keep one binding for each subject, as the operator refuses two',
        'inboundGrants.jwtBearer.issuerPolicies[0].subjectBindings[2].subject: Invalid value: "*": must be one subject, not a wildcard, or the operator refuses it',
      ],
    },
    'fragments, and no host': {
      value: accepting({
        subjectBindings: [{ subject: 'ci', allowedResources: ['https://mcp.example.com#tools'] }],
        acceptedAudiences: ['https:///oauth/token'],
      }),
      findings: [
        'inboundGrants.jwtBearer.issuerPolicies[0].subjectBindings[0].allowedResources[0]: Invalid value: "https://mcp.example.com#tools": must have a host and no fragment, or the operator refuses it',
        'inboundGrants.jwtBearer.issuerPolicies[0].acceptedAudiences[0]: Invalid value: "https:///oauth/token": must have a host and no fragment, or the operator refuses it',
      ],
    },
  },
})

const REFUSED = 'or the operator refuses it'
const NOT_A_URL = `must have a host and no fragment, ${REFUSED}`

/** Whether the operator accepts the URL as a resource or an audience; the schema has already checked its pattern. */
const isResource = (text: string): boolean =>
  !/^https?:/.test(text) || ((parseUrl(text)?.host ?? '') !== '' && !text.includes('#'))
