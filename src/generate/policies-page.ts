import { allRules, placesOf } from '../kinds/places.ts'
import { pathText } from '../rule/path.ts'
import type { Rule } from '../rule/rule.ts'
import type { GeneratedFile } from './generated-file.ts'
import { block, code, GENERATED, idLink, page, table } from './markdown.ts'
import { heldPlaces } from './policies.ts'

/** docs/policies.md: what policies hold, what needs the webhook and why, and how to install them. */
export function policiesPage(): GeneratedFile {
  const errors = allRules().filter(({ severity }) => severity === 'error')
  const held = new Set(heldPlaces().map(({ rule }) => rule))
  const holding = errors.filter((rule) => held.has(rule))
  const others = errors.filter((rule) => !held.has(rule))
  const text = page([
    GENERATED,
    '# Policies: a backstop without pods',
    `\`deploy/policies\` holds ${holding.length} of the ${errors.length} rules that are errors as ValidatingAdmissionPolicies. The API server itself
evaluates them, without a pod, a certificate or a network call. They need Kubernetes 1.30 and the CRDs, the operator's or ours, and
know the fields of newer releases.`,
    '## Install, try, remove',
    block(
      'sh',
      `kubectl apply -f deploy/policies/trial.yaml   # warns and writes to the audit log, denies nothing
kubectl apply -f deploy/policies/deny.yaml    # denies; replaces the bindings of the trial
kubectl delete -f deploy/policies/deny.yaml`,
    ),
    `Apply one of the two files, not the folder. Each kind has a policy and a binding, \`vmcp-admission-PLURAL\`. To leave namespaces
out, set \`matchResources.namespaceSelector\` in the binding; a second binding may warn there. To drop one rule, remove its
validation, for example with a kustomize patch. Changes take effect within seconds.`,
    'A denial ends with the id of the rule; [the rules](rules/README.md) and `vmcp-admission explain` explain it:',
    block(
      'text',
      "The mcpexternalauthconfigs \"billing-aws\" is invalid: : ValidatingAdmissionPolicy 'vmcp-admission-mcpexternalauthconfigs' with binding 'vmcp-admission-mcpexternalauthconfigs' denied request: spec breaks a rule: A role mapping matches by claim or by matcher, not by both (role-mapping-claim-or-matcher)",
    ),
    '## How they judge',
    `- **They deny nothing that the webhook admits**, at its default severities. A test sends every example of every rule, and
  hundreds of generated objects, to an API server that has only the policies and our CRDs, and compares the verdicts. Tried by hand,
  once, with the operator's CRDs of release 0.44.0: all of \`examples\` was stored, with the audience in \`oidcConfigRef\`; all of
  \`examples/bad\` was refused, except for an MCPServerEntry without a \`spec\`.
- **They fail open** (\`failurePolicy: Ignore\`). An expression that cannot be evaluated denies nothing: because a field has an unexpected
  type, or because a large object reaches the cost limit of CEL. A backstop must not lock anyone out, and the operator checks again.
- **Old errors may stay.** An update is denied only where it breaks a rule that the stored object satisfies. The webhook compares
  finding by finding; a policy only sees that the rule was broken before.
- **Untouched specs pass**, as at the webhook: an update that leaves the spec alone, an object that is being deleted, a
  subresource.
- **One at a time.** The API server shows the first rule that is broken, without the index of the item; with
  \`[Warn, Audit]\` it shows all of them.
- **They have no settings.** \`--severity\` and \`--mode\` apply to the webhook only: remove from the policies what you relax there.`,
    `Beside a running webhook, the API server asks policies first, and a denial by a policy hides the webhook's list of causes. So
install both only where the webhook may be missing (its \`failurePolicy\` is \`Ignore\`, or a cluster starts without it), or the
policies as a trial: their warnings then stand beside the webhook's answer.`,
    '## What they hold',
    table(
      ['Rule', 'On', 'What must be true'],
      holding.map((rule) => [idLink(rule.id), placesText(rule), rule.summary]),
    ),
    '## What needs the webhook',
    table(
      ['Rule', 'Why no policy can hold it'],
      others.map((rule) => [idLink(rule.id), reason(rule)]),
    ),
    `All warnings need the webhook too, because a policy has one action for all of its rules. Required fields, enums, patterns and bounds
are held by the CRDs, the operator's or \`deploy/crds-strict\`. Only the webhook writes defaults, such as \`subjectProviderName\`.`,
  ])
  return { path: 'docs/policies.md', text }
}

const placesText = (rule: Rule) =>
  placesOf(rule)
    .map(({ kind, at }) => (at.length === 0 ? kind.kind : `${code(pathText(at))} of ${kind.kind}`))
    .join(', ')

function reason({ reads, policy }: Rule): string {
  if (policy && 'needsWebhook' in policy) return policy.needsWebhook
  if (reads.length === 0) throw new Error('an error that reads nothing says what policies can do')
  return `a policy sees one object, the rule reads ${reads.join(', ')}`
}
