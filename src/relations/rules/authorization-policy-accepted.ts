import type { Parsed } from '../../cedar/index.ts'
import { defineRule } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { aboutPolicies, gatewayOf, PERMIT, policyListOf, policiesMap, WITH_POLICIES_MAP } from '../index.ts'

const FORBID =
  'forbid(principal, action, resource) when { context has arg_path && context.arg_path like "/etc/*" };'

const policies = (...texts: readonly string[]) => ({
  kind: 'MCPServer',
  value: { spec: { authzConfig: { type: 'inline' as const, inline: { policies: texts } } } },
})

export const authorizationPolicyAccepted = defineRule({
  id: 'authorization-policy-accepted',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  reads: ['ConfigMap'],
  severity: 'warning',
  summary: 'Each item of a list of policies is one complete Cedar policy.',
  why: 'Releases parse the first policy of each item and ignore all behind it, so a second one has no effect, a `forbid` too. An item that is not a policy keeps the server from starting. The grammar is that of cedar-go 1.8, which all releases run.',
  failure: {
    symptom:
      'a `forbid` policy forbids nothing; or the log says "failed to parse policy 0", on an MCPRemoteProxy `AuthzPolicySyntaxInvalid`',
    toldBy: 'start-up',
    threads: ['ConfigMap'],
  },
  sources: ['decision 3'],
  *check(resource, context) {
    const list = policyListOf(resource, context)
    for (const { parsed, at, named } of list?.policies ?? []) {
      const detail = parsed && fault(parsed)
      if (list !== undefined && detail !== undefined) yield aboutPolicies(list, at(), `${named}${detail}`)
    }
  },
  examples: {
    valid: [
      {
        title: 'a policy',
        kind: 'VirtualMCPServer',
        value: gatewayOf({
          incomingAuth: {
            type: 'oidc',
            oidcConfigRef: { name: 'corporate', audience: 'tools' },
            authzConfig: { type: 'inline', inline: { policies: [FORBID] } },
          },
        }),
      },
      { title: 'a policy in an item', ...policies(PERMIT), kind: 'MCPRemoteProxy' },
      { title: 'a policy in each item', ...policies(PERMIT, `// no secrets\n@id("etc")\n${FORBID}\n`) },
      {
        title: 'brackets and semicolons in strings and comments',
        ...policies('permit(principal, action, resource) when { context.arg_a == ";)}\\"" }; /* forbid( */'),
      },
    ],
    invalid: [
      {
        title: 'two policies in an item',
        ...policies(`${PERMIT}\n${FORBID}`),
        findings: [
          'spec.authzConfig.inline.policies[0]: has no effect from the second policy on: a forbid there forbids nothing; make each policy an item of its own',
        ],
      },
      {
        title: 'texts that are not complete',
        ...policies(
          ' ',
          'allow all;',
          'permit(principal, action, resource)',
          'permit(principal, action, resource;',
          'permit(principal, action, resource) when { context.arg_a == "x };',
          "permit(principal, action, resource) when { context.arg_a == 'x' };",
        ),
        findings: [
          'spec.authzConfig.inline.policies[0]: is empty; remove the item',
          "spec.authzConfig.inline.policies[1]: is not a Cedar policy, so the server does not start; begin with 'permit' or 'forbid'",
          "spec.authzConfig.inline.policies[2]: is not a Cedar policy, so the server does not start; end with ';'",
          'spec.authzConfig.inline.policies[3]: is not a Cedar policy, so the server does not start; close each bracket',
          'spec.authzConfig.inline.policies[4]: is not a Cedar policy, so the server does not start; end each string',
          'spec.authzConfig.inline.policies[5]: is not a Cedar policy, so the server does not start; write strings in double quotes',
        ],
      },
      {
        title: 'policies of a ConfigMap',
        kind: 'MCPServer',
        value: WITH_POLICIES_MAP,
        others: [policiesMap([PERMIT, 'permit(principal, action, resource in Tool::["a", "b"]);'])],
        findings: [
          'spec.authzConfig.configMap: in the ConfigMap "policies", policies[1]: is not a Cedar policy, so the server does not start; write the name of an entity in double quotes',
        ],
      },
    ],
  },
})

/** The problem of an item. */
function fault(parsed: Parsed): string | undefined {
  if (parsed.kind === 'empty') return 'is empty; remove the item'
  if (parsed.kind === 'refused') return `is not a Cedar policy, so the server does not start; ${parsed.hint}`
  if (parsed.kind === 'unread') return undefined
  if (parsed.rest === 'permit')
    return 'has no effect from the second policy on; make each policy an item of its own'
  return parsed.rest === 'forbid'
    ? 'has no effect from the second policy on: a forbid there forbids nothing; make each policy an item of its own'
    : undefined
}
