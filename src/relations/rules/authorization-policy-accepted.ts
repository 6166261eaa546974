import type { Parsed } from '../../cedar/index.ts'
import { defineRule } from '../../rule/index.ts'
import { AuthzConfig, AuthzConfigRef } from '../../kinds/schemas.ts'
import {
  aboutPolicies,
  PERMIT,
  policiesInline,
  policiesConfig,
  policiesMap,
  policyListOf,
  WITH_POLICIES_CONFIG,
  WITH_POLICIES_MAP,
} from '../index.ts'

const FORBID =
  'forbid(principal, action, resource) when { context has arg_path && context.arg_path like "/etc/*" };'

export const authorizationPolicyAccepted = defineRule({
  id: 'authorization-policy-accepted',
  on: [AuthzConfig, AuthzConfigRef],
  reads: ['ConfigMap', 'MCPAuthzConfig'],
  severity: 'warning',
  summary: 'Each item of a list of policies is one complete Cedar policy.',
  why: 'Releases parse the first policy of each item and ignore all behind it, so a second one has no effect, a `forbid` too. An item that is not a policy keeps the server from starting. The grammar is that of cedar-go 1.8, which all releases run.',
  failure: {
    symptom:
      'a `forbid` policy forbids nothing; or the log says "failed to parse policy 0", on an MCPRemoteProxy `AuthzPolicySyntaxInvalid`',
    reportedBy: 'start-up',
    consequence: 'lets anyone in',
    threads: ['ConfigMap'],
  },
  sources: ['decision 3'],
  *check(authzConfig, context) {
    const list = policyListOf(authzConfig, context)
    for (const { parsed, at, named } of list?.policies ?? []) {
      const detail = parsed && fault(parsed)
      if (list !== undefined && detail !== undefined) yield aboutPolicies(list, at(), `${named}${detail}`)
    }
  },
  examples: {
    'a policy': { kind: 'VirtualMCPServer', value: policiesInline(FORBID) },
    'a policy in an item': { value: policiesInline(PERMIT) },
    'a policy in each item': { value: policiesInline(PERMIT, `// no secrets\n@id("etc")\n${FORBID}\n`) },
    'brackets and semicolons in strings and comments': {
      value: policiesInline(
        'permit(principal, action, resource) when { context.arg_a == ";)}\\"" }; /* forbid( */',
      ),
    },
    'policies of an MCPAuthzConfig': [
      { ...WITH_POLICIES_CONFIG, others: [policiesConfig([PERMIT, FORBID])] },
      {
        ...WITH_POLICIES_CONFIG,
        others: [policiesConfig([PERMIT, `${PERMIT} ${FORBID}`])],
        findings:
          'name: in the MCPAuthzConfig "staff", policies[1]: has no effect from the second policy on: a forbid there forbids nothing; make each policy an item of its own',
      },
    ],
    'an MCPAuthzConfig of another type': {
      ...WITH_POLICIES_CONFIG,
      kind: 'MCPServer',
      others: [policiesConfig(['allow all'], {}, 'httpv1')],
    },
    'two policies in an item': {
      value: policiesInline(`${PERMIT}\n${FORBID}`),
      findings:
        'inline.policies[0]: has no effect from the second policy on: a forbid there forbids nothing; make each policy an item of its own',
    },
    'texts that are not complete': {
      value: policiesInline(
        ' ',
        'allow all;',
        'permit(principal, action, resource)',
        'permit(principal, action, resource;',
        'permit(principal, action, resource) when { context.arg_a == "x };',
        "permit(principal, action, resource) when { context.arg_a == 'x' };",
      ),
      findings: [
        'inline.policies[0]: is empty, so the server does not start; remove the item',
        "inline.policies[1]: is not a Cedar policy, so the server does not start; begin with 'permit' or 'forbid'",
        "inline.policies[2]: is not a Cedar policy, so the server does not start; end with ';'",
        'inline.policies[3]: is not a Cedar policy, so the server does not start; close each bracket',
        'inline.policies[4]: is not a Cedar policy, so the server does not start; end each string',
        'inline.policies[5]: is not a Cedar policy, so the server does not start; write strings in double quotes',
      ],
    },
    'policies of a ConfigMap': {
      value: WITH_POLICIES_MAP,
      others: [policiesMap([PERMIT, 'permit(principal, action, resource in Tool::["a", "b"]);'])],
      findings:
        'configMap: in the ConfigMap "policies", policies[1]: is not a Cedar policy, so the server does not start; write the name of an entity in double quotes',
    },
  },
})

/** Why an item of `policies` is wrong; undefined when it is correct. */
function fault(parsed: Parsed): string | undefined {
  if (parsed.kind === 'empty') return 'is empty, so the server does not start; remove the item'
  if (parsed.kind === 'refused') return `is not a Cedar policy, so the server does not start; ${parsed.hint}`
  if (parsed.kind === 'unread') return undefined
  if (parsed.rest === 'permit')
    return 'has no effect from the second policy on; make each policy an item of its own'
  return parsed.rest === 'forbid'
    ? 'has no effect from the second policy on: a forbid there forbids nothing; make each policy an item of its own'
    : undefined
}
