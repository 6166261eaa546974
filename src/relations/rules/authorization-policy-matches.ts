import { defineRule } from '../../rule/index.ts'
import { AuthzConfig, AuthzConfigRef } from '../../kinds/schemas.ts'
import {
  aboutPolicies,
  judgementsOf,
  policiesConfig,
  policiesInline,
  policiesMap,
  policyListOf,
  WITH_POLICIES_CONFIG,
  WITH_POLICIES_MAP,
} from '../index.ts'

export const authorizationPolicyMatches = defineRule({
  id: 'authorization-policy-matches',
  on: [AuthzConfig, AuthzConfigRef],
  reads: ['ConfigMap', 'MCPAuthzConfig'],
  severity: 'warning',
  summary:
    'A Cedar policy names actions, principals, resources and attributes that requests have, and compares values that can be equal.',
  why: 'Cedar takes any name. A policy about another one never matches: a `permit` permits nothing, and a `forbid` forbids nothing, which nobody notices. Requests are call_tool, get_prompt and read_resource of a Client, for a Tool, Prompt or Resource of MCP::"<server>"; groups of the token are THVGroup or groupEntityType; numbers are decimals.',
  failure: {
    symptom:
      'a `forbid` policy forbids nothing; or tools/list is empty and each call is denied with 403 "Unauthorized"',
    reportedBy: 'nobody',
    consequence: 'lets anyone in',
  },
  sources: ['decision 3'],
  *check(authzConfig, context) {
    const list = policyListOf(authzConfig, context)
    if (list === undefined) return
    for (const { policy, isFailure, text } of judgementsOf(list, context))
      if (!isFailure) yield aboutPolicies(list, policy.at(), `${policy.named}${text}`)
  },
  examples: {
    'actions, groups and the server': {
      value: policiesInline(
        'permit(principal in THVGroup::"staff", action in [Action::"call_tool", Action::"get_prompt"], resource in MCP::"example");',
        'forbid(principal, action == Action::"call_tool", resource == Tool::"delete_repo") unless { principal is Client in THVGroup::"admins" };',
        'permit(principal == Client::"ci", action == Action::"read_resource", resource is Resource) when { resource.uri like "file:///public/*" };',
      ),
    },
    'numbers as decimals': {
      value: policiesInline(
        'permit(principal, action, resource) when { context has arg_limit && context.arg_limit.lessThan(decimal("100.0")) };',
      ),
    },
    'groups of a type of their own, that belong to a role': {
      value: {
        type: 'inline',
        groupEntityType: 'Team',
        inline: {
          policies: ['permit(principal in Role::"writer", action, resource);'],
          entitiesJson: JSON.stringify([
            { uid: { type: 'Team', id: 'core' }, attrs: {}, parents: [{ type: 'Role', id: 'writer' }] },
          ]),
        },
      },
    },
    'groups of a type that an MCPAuthzConfig sets': {
      ...WITH_POLICIES_CONFIG,
      others: [
        policiesConfig(['permit(principal in Team::"core", action, resource);'], {
          group_entity_type: 'Team',
        }),
      ],
    },
    'an action of MCP, not of Cedar': {
      value: policiesInline(
        'permit(principal, action == Action::"call_tool", resource);',
        'forbid(principal, action == Action::"tools/call", resource == Tool::"delete_repo");',
      ),
      findings:
        'inline.policies[1]: forbids nothing: no request asks Action::"tools/call"; write Action::"call_tool"',
    },
    'a list': {
      value: policiesInline(
        'permit(principal, action == Action::"list_tools", resource == FeatureType::"tool");',
      ),
      findings:
        'inline.policies[0]: permits nothing: Action::"list_tools" is never asked: lists show what "call_tool" permits',
    },
    'another type of principal, of group and of resource': {
      value: policiesInline(
        'permit(principal == User::"alice", action, resource);',
        'permit(principal in Group::"staff", action, resource);',
        'forbid(principal, action, resource in Server::"example");',
      ),
      findings: [
        'inline.policies[0]: permits nothing: callers are Client::"<sub>", never User::"alice"; write Client::"alice"',
        'inline.policies[1]: permits nothing: nobody is in Group::"staff": groups of a token are THVGroup; write THVGroup::"staff"',
        'inline.policies[2]: forbids nothing: resources are Tool, Prompt and Resource, never Server::"example"; write resource in MCP::"example"',
      ],
    },
    'everybody is forbidden everything': {
      value: policiesInline(
        'permit(principal, action, resource);',
        'forbid(principal, action, resource) unless { principal in Role::"admin" };',
      ),
      findings:
        'inline.policies[1]: forbids every request: nobody is in Role::"admin": groups of a token are THVGroup; write THVGroup::"admin"',
    },
    'the type of another release of the policies': {
      value: {
        type: 'inline',
        groupEntityType: 'ClaimGroup',
        inline: { policies: ['permit(principal in THVGroup::"staff", action, resource);'] },
      },
      findings:
        'inline.policies[0]: permits nothing: groups are ClaimGroup (groupEntityType), never THVGroup::"staff"; write ClaimGroup::"staff"',
    },
    'attributes that nobody has, and a number': {
      value: policiesInline(
        'permit(principal, action, resource) when { principal has email && principal.email like "*@example.com" };',
        'forbid(principal, action, resource) when { context has arg_count && context.arg_count == 5 };',
        'permit(principal, action == Action::"call_tool", resource == Prompt::"greeting");',
      ),
      findings: [
        'inline.policies[0]: permits nothing: there is no principal.email; write principal.claim_email',
        'inline.policies[1]: forbids nothing: a number in context.arg_count is a decimal, never 5; write == decimal("5.0")',
        'inline.policies[2]: permits nothing: Prompt::"greeting" is never asked for with this action',
      ],
    },
    'policies of a ConfigMap': {
      value: WITH_POLICIES_MAP,
      others: [policiesMap(['permit(principal, action == Action::"callTool", resource);'])],
      findings:
        'configMap: in the ConfigMap "policies", policies[0]: permits nothing: no request asks Action::"callTool"; write Action::"call_tool"',
    },
    'policies of an MCPAuthzConfig': {
      ...WITH_POLICIES_CONFIG,
      others: [policiesConfig(['permit(principal in Group::"staff", action, resource);'])],
      findings:
        'name: in the MCPAuthzConfig "staff", policies[0]: permits nothing: nobody is in Group::"staff": groups of a token are THVGroup; write THVGroup::"staff"',
    },
  },
})
