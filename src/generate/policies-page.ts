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
    `\`deploy/policies\` holds ${holding.length} of the ${errors.length} rules that are errors as ValidatingAdmissionPolicies: the API server itself
evaluates them, with no pod, no certificate and no network between. They stand alone, on top of the CRDs of the
operator or of ours, and know the fields that newer releases have. They need Kubernetes 1.30.`,
    '## Install, try, remove',
    block(
      'sh',
      `kubectl apply -f deploy/policies/trial.yaml   # warns and writes to the audit log, denies nothing
kubectl apply -f deploy/policies/deny.yaml    # denies; replaces the bindings of the trial
kubectl delete -f deploy/policies/deny.yaml`,
    ),
    `Apply one of the two files, not the folder. There is a policy and a binding for each kind, \`vmcp-admission-PLURAL\`.
Where it applies is the binding's: \`matchResources.namespaceSelector\` takes namespaces out, and a second binding may
warn in those. To drop one rule, take its validation out, with a kustomize patch for example. What is applied takes
effect within seconds.`,
    'A denial names the id of the rule, which [the rules](rules/README.md) and `vmcp-admission explain` tell more of:',
    block(
      'text',
      "The mcpexternalauthconfigs \"billing-aws\" is invalid: : ValidatingAdmissionPolicy 'vmcp-admission-mcpexternalauthconfigs' with binding 'vmcp-admission-mcpexternalauthconfigs' denied request: spec breaks a rule: A role mapping matches by claim or by matcher, not by both (role-mapping-claim-or-matcher)",
    ),
    '## How they judge',
    `- **They deny nothing that the webhook admits**, at its default severities. A test sends every example of every rule,
  and hundreds of made-up objects, to an API server that has the policies and our CRDs alone, and compares. By hand, once,
  on the operator's CRDs of release 0.44.0: all of \`examples\` was stored, with the audience in \`oidcConfigRef\`, where
  these CRDs have it; all of \`examples/bad\` was refused, except for an MCPServerEntry without a \`spec\`.
- **They fail open** (\`failurePolicy: Ignore\`). An expression that cannot be evaluated, because a field has a shape
  that nobody foresaw or because an object is so large that the cost limit of CEL is reached, denies nothing: a backstop
  must not lock anyone out, and the operator checks again.
- **What was wrong before may stay.** An update is denied only where it breaks a rule that the stored object keeps. The
  webhook compares finding by finding; a policy only sees that the rule was broken before.
- **Untouched specs pass**, as at the webhook: an update that leaves the spec alone, an object that is being deleted, a
  subresource.
- **One at a time.** The API server shows the first rule that is broken, without the index of the item; with
  \`[Warn, Audit]\` it shows all of them.
- **They know no settings.** \`--severity\` and \`--mode\` are the webhook's: take out of the policies what you relax there.`,
    `Beside a running webhook the API server asks policies first, and a denial by one hides the list of causes that the webhook
has. Together with the webhook, install them where it may be missing (its \`failurePolicy\` is \`Ignore\`, or a cluster is
brought up without it), or as a trial: the warnings then stand beside its answer.`,
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
    `All rules that are warnings need it too: an action belongs to a whole policy, and advice that denies is none. Required
fields, enums, patterns and bounds are those of the CRD: the operator's have them, and so has \`deploy/crds-strict\`.
Defaults, \`subjectProviderName\` first of all, are written by the webhook alone.`,
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
