import { defineRule } from '../../rule/index.ts'
import { AuthzConfig, AuthzConfigRef } from '../../kinds/schemas.ts'
import {
  aboutPolicies,
  judgementsOf,
  PERMIT,
  policiesConfig,
  policiesInline,
  policiesMap,
  policyListOf,
  WITH_POLICIES_CONFIG,
  WITH_POLICIES_MAP,
} from '../index.ts'

export const authorizationPolicyEvaluates = defineRule({
  id: 'authorization-policy-evaluates',
  on: [AuthzConfig, AuthzConfigRef],
  reads: ['ConfigMap', 'MCPAuthzConfig'],
  severity: 'warning',
  summary: 'No Cedar policy fails for a request that another one permits.',
  why: 'Reading an attribute that is not there is an error in Cedar, and so is an operation on a value of another type. Releases deny a request as soon as one policy fails, whatever the others permit; the policies of all tools are evaluated for each request, and for tools/list without arguments.',
  failure: {
    symptom:
      'every request is denied with 403 "Unauthorized", or tools/list is empty; the log says `authorization error: … does not have the attribute` or `type error: expected`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: ['decision 3'],
  *check(authzConfig, context) {
    const list = policyListOf(authzConfig, context)
    if (list === undefined) return
    for (const { policy, isFailure, text } of judgementsOf(list, context))
      if (isFailure) yield aboutPolicies(list, policy.at(), `${policy.named}${text}`)
  },
  examples: {
    'attributes that are asked for first': {
      value: policiesInline(
        PERMIT,
        'forbid(principal, action, resource) when { context has arg_path && context.arg_path like "/etc/*" };',
        'forbid(principal, action, resource) unless { principal has claim_groups && principal.claim_groups.contains("staff") };',
      ),
    },
    'a policy that forbids all others: also those without the claim, as it fails for them': {
      value: policiesInline(
        PERMIT,
        'forbid(principal, action, resource) unless { principal.claim_groups.contains("staff") };',
      ),
    },
    'a claim that no other policy goes without': {
      value: policiesInline(
        'permit(principal, action == Action::"call_tool", resource) when { principal.claim_roles.contains("admin") };',
      ),
    },
    'groups chosen by a condition': {
      value: policiesInline(
        'permit(principal, action, resource) when { principal in (if context has arg_path then [THVGroup::"admins"] else [THVGroup::"staff"]) };',
      ),
    },
    'an attribute that nobody has': {
      value: policiesInline(
        PERMIT,
        'forbid(principal, action, resource) when { principal.email like "*@contractor.example.com" };',
      ),
      findings:
        'inline.policies[1]: denies every request, whatever others permit: there is no principal.email; write principal.claim_email',
    },
    'an argument that few tools have': {
      value: policiesInline(
        PERMIT,
        'forbid(principal, action, resource) when { context.arg_path like "/etc/*" };',
      ),
      findings:
        'inline.policies[1]: denies calls without arg_path, and hides tools from lists, whatever others permit; write context has arg_path && …',
    },
    'a claim that not everybody has': {
      value: policiesInline(
        'permit(principal, action == Action::"call_tool", resource == Tool::"weather");',
        'permit(principal, action == Action::"call_tool", resource) when { principal.claim_roles.contains("admin") };',
      ),
      findings:
        'inline.policies[1]: denies callers without claim_roles, whatever others permit; write principal has claim_roles && …',
    },
    'operations on values of other types': {
      value: policiesInline(
        'permit(principal, action, resource) when { context has claim_scope && context.claim_scope.contains("tools:call") };',
        'permit(principal, action, resource) when { principal has claim_groups && principal.claim_groups like "*staff*" };',
        'permit(principal, action, resource) when { principal has claim_level && principal.claim_level >= 3 };',
      ),
      findings: [
        'inline.policies[0]: denies requests that reach it, whatever others permit: context.claim_scope is a string, on which `.contains` fails; write `context.claim_scope like "*tools:call*"`',
        'inline.policies[1]: denies requests that reach it, whatever others permit: principal.claim_groups is a set, on which `like` fails; write `.contains("staff")`',
        'inline.policies[2]: denies requests that reach it, whatever others permit: a number in principal.claim_level is a decimal, on which >= fails; write .greaterThanOrEqual(decimal("3.0"))',
      ],
    },
    'policies of a ConfigMap': {
      value: WITH_POLICIES_MAP,
      others: [
        policiesMap([PERMIT, 'forbid(principal, action, resource) when { resource.owner == "alice" };']),
      ],
      findings:
        'configMap: in the ConfigMap "policies", policies[1]: denies every request, whatever others permit: there is no resource.owner; a resource has name, operation, feature, uri, hints, arg_<name>',
    },
    'policies of an MCPAuthzConfig': {
      ...WITH_POLICIES_CONFIG,
      others: [
        policiesConfig([PERMIT, 'forbid(principal, action, resource) when { resource.owner == "alice" };']),
      ],
      findings:
        'name: in the MCPAuthzConfig "staff", policies[1]: denies every request, whatever others permit: there is no resource.owner; a resource has name, operation, feature, uri, hints, arg_<name>',
    },
  },
})
