import { allRules, placesOf } from '../kinds/places.ts'
import { pathText, type Rule } from '../rule/index.ts'
import type { GeneratedFile } from './generated-file.ts'
import { block, code, GENERATED, idLink, page, table } from './markdown.ts'
import { heldPlaces } from './policies.ts'

/** docs/policies.md: which rules ValidatingAdmissionPolicies enforce, which need the webhook, and the installation. */
export function policiesPage(): GeneratedFile {
  const errors = allRules().filter(({ severity }) => severity === 'error')
  const held = new Set(heldPlaces().map(({ rule }) => rule))
  const holding = errors.filter((rule) => held.has(rule))
  const others = errors.filter((rule) => !held.has(rule))
  const text = page([
    GENERATED,
    '# Policies: rules and defaults without pods',
    `The API server itself can evaluate ${holding.length} of the ${errors.length} rules that are errors, and write the defaults: without a pod, a certificate or a
network call. \`deploy/policies\` has them as ValidatingAdmissionPolicies (Kubernetes 1.30) and MutatingAdmissionPolicies (Kubernetes
1.36). They need the CRDs, the operator's or ours, and know the fields of newer releases.`,
    '## Install, try, remove',
    block(
      'sh',
      `kubectl apply -k deploy/kustomize/policies-only    # denies, and writes defaults
kubectl delete -k deploy/kustomize/policies-only`,
    ),
    'That is a whole installation, the smallest one. Its parts can be applied alone:',
    table(
      ['File of `deploy/policies`', 'What it does', 'Kubernetes'],
      [
        ['`trial.yaml`', 'warns and writes to the audit log, denies nothing', '1.30'],
        ['`deny.yaml`', 'denies; replaces the bindings of the trial', '1.30'],
        ['`defaults.yaml`', 'writes defaults', '1.36'],
        [
          '`defaults-outside-lists.yaml`',
          'writes defaults, except in items of lists: for client-side `kubectl apply` ([why](gitops.md))',
          '1.36',
        ],
      ],
    ),
    `Do not apply the folder: \`trial.yaml\` and \`deny.yaml\` have the same names, and so have the two files of defaults. Each kind
has a policy and a binding, \`vmcp-admission-PLURAL\`. To leave namespaces out, set \`matchResources.namespaceSelector\` in the
binding; a second binding may warn there. To drop one rule, remove its validation, for example with a kustomize patch. Changes take
effect within seconds.`,
    'A denial ends with the id of the rule; [the rules](rules/README.md) and `vmcp-admission explain` explain it:',
    block(
      'text',
      "The mcpexternalauthconfigs \"billing-aws\" is invalid: : ValidatingAdmissionPolicy 'vmcp-admission-mcpexternalauthconfigs' with binding 'vmcp-admission-mcpexternalauthconfigs' denied request: spec breaks a rule: A role mapping matches by claim or by matcher, not by both (role-mapping-claim-or-matcher)",
    ),
    '## How they judge',
    `- **They deny nothing that the webhook admits**, at its default severities.
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
    '## How they write defaults',
    `- **They write what \`/mutate\` writes**: every default of [the fields](fields.md), where the field is absent or null and the object
  around it is there.
- **Only the webhook writes two defaults**, which depend on other objects: \`spec.tokenExchange.subjectProviderName\`, and the audience of
  service accounts (\`--service-account-audience\`).
- **Nothing is written twice.** A second apply changes nothing, and beside the policies \`/mutate\` finds nothing to add. The same updates
  pass untouched as above.
- **They fail open.** Where a field has an unexpected type, or a list is too long for the cost limit of CEL, the object is admitted
  without the defaults. 1,000 upstream providers get theirs. An object with a wrong type in a field of a newer release, which no CRD of
  yours checks, gets defaults from the policies and none from \`/mutate\`.
- **Wait a few seconds after the CRDs are created** for the first time: until the API server has read their schema it answers 503
  to objects that a MutatingAdmissionPolicy matches ("There can be a delay between when CustomResourceDefinitions are created and when
  they are available"). Then apply again.`,
    '## What they hold',
    table(
      ['Rule', 'On'],
      holding.map((rule) => [idLink(rule.id), placesText(rule)]),
    ),
    '## What needs the webhook',
    table(
      ['Rule', 'Why no policy can hold it'],
      others.map((rule) => [idLink(rule.id), reason(rule)]),
    ),
    `All warnings need the webhook too, because a policy has one action for all of its rules. Required fields, enums, patterns and bounds
are held by the CRDs, the operator's or \`deploy/crds-strict\`.`,
    '## As files of the API server',
    `An API server can load policies from its own disk ([KEP-5793](https://kubernetes.io/docs/reference/access-authn-authz/manifest-admission-control/)):
they hold from its first request on, without etcd, and nobody can change or delete them through the API. In Kubernetes 1.36 this is
alpha, behind the feature gate \`ManifestBasedAdmissionControlConfig\`; in 1.37 it is beta and on. On the machine of every API server:`,
    block(
      'sh',
      `mkdir -p /etc/kubernetes/vmcp-admission
cp -r deploy/policies/static/. /etc/kubernetes/vmcp-admission/`,
    ),
    'Then start the API server with these flags, and mount the folder where it runs in a pod:',
    block(
      'text',
      `--admission-control-config-file=/etc/kubernetes/vmcp-admission/admission-configuration.yaml
--feature-gates=ManifestBasedAdmissionControlConfig=true`,
    ),
    `- \`static/validating\` and \`static/mutating\` are \`deny.yaml\` and \`defaults.yaml\` under names that end in \`.static.k8s.io\`. Kubernetes
  reserves these names: \`kubectl apply\` is refused, and \`kubectl get\` does not show the policies.
- An API server that has such a file already gets the two entries of \`plugins\` there.
- The API server reads a changed file again at once. It keeps its policies when a file is wrong, but does not start with one.
- To remove the policies, delete the files. An API server needs the folders as long as its configuration names them.
- Use either these or the policies in the API: with both, each is evaluated, and what one of them denies is denied.`,
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
