import { advice, defineRule } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { authorizationOf, gatewayOf, PERMIT, STRING_OR_COMMENT } from '../index.ts'

const FORBID = 'forbid(principal, action, resource) when { context.arg_path like "/etc/*" };'

const CLOSES: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }

const policies = (...texts: readonly string[]) => ({
  kind: 'MCPServer',
  value: { spec: { authzConfig: { type: 'inline' as const, inline: { policies: texts } } } },
})

export const authorizationPolicyAccepted = defineRule({
  id: 'authorization-policy-accepted',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  reads: [],
  severity: 'warning',
  summary: 'Each item of `authzConfig.inline.policies` is one complete Cedar policy.',
  why: 'Releases parse the first policy of each item and ignore all behind it, so a second one has no effect, a `forbid` too. An item that is not a policy keeps the server from starting. Brackets, quotes and the two ends are checked here, not the whole grammar.',
  failure: {
    symptom:
      'a `forbid` policy forbids nothing; or the log says "failed to parse policy 0", on an MCPRemoteProxy `AuthzPolicySyntaxInvalid`',
    toldBy: 'start-up',
    threads: [],
  },
  sources: ['decision 3'],
  *check(resource) {
    const { holder, path } = authorizationOf(resource) ?? {}
    for (const [i, policy] of (holder?.authzConfig?.inline?.policies ?? []).entries()) {
      const detail = policy === undefined ? undefined : fault(policy)
      if (path !== undefined && detail !== undefined)
        yield advice(path.authzConfig.inline.policies.at(i), detail)
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
          'spec.authzConfig.inline.policies[0]: has no effect from the second policy on; make each policy an item of its own',
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
    ],
  },
})

/** The problem of an item, as far as it shows without the grammar of Cedar. */
function fault(text: string): string | undefined {
  const bare = text.replace(STRING_OR_COMMENT, (found) => (found.startsWith('"') ? '""' : ' '))
  const isOpen = Array.from(text.matchAll(STRING_OR_COMMENT)).some(
    ([found, end]) => found.startsWith('"') && end === '',
  )
  if (bare.trim() === '') return 'is empty; remove the item'
  const isPolicy = (each: string) => /^\s*(?:@|(?:permit|forbid)\b)/.test(each)
  const notPolicy = (remedy: string) => `is not a Cedar policy, so the server does not start; ${remedy}`
  if (!isPolicy(bare)) return notPolicy("begin with 'permit' or 'forbid'")
  if (isOpen) return notPolicy('end each string')
  const end = bare.indexOf(';')
  const first = end === -1 ? bare : bare.slice(0, end)
  if (first.includes("'")) return notPolicy('write strings in double quotes')
  if (!isBalanced(first)) return notPolicy('close each bracket')
  if (end === -1) return notPolicy("end with ';'")
  return isPolicy(bare.slice(end + 1))
    ? 'has no effect from the second policy on; make each policy an item of its own'
    : undefined
}

function isBalanced(text: string): boolean {
  const open: string[] = []
  for (const [bracket] of text.matchAll(/[()[\]{}]/g)) {
    const opening = CLOSES[bracket]
    if (opening === undefined) open.push(bracket)
    else if (open.pop() !== opening) return false
  }
  return open.length === 0
}
