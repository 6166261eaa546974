import { KINDS } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { type RulePlace, rulePlaces } from '../kinds/places.ts'
import { pathText, type Segment } from '../rule/index.ts'
import type { GeneratedFile } from './generated-file.ts'
import { API, matchingWritesOf, policyFile, policyName, STATIC } from './policy-parts.ts'

/** The files with ValidatingAdmissionPolicies; they differ in the effect on an object that violates a rule. */
const FILES = [
  {
    path: 'deploy/policies/deny.yaml',
    actions: ['Deny'],
    comment: 'What breaks a rule is denied. To try first: trial.yaml, which differs in the bindings only.',
    suffix: '',
  },
  {
    path: 'deploy/policies/trial.yaml',
    actions: ['Warn', 'Audit'],
    comment: 'For a trial: what breaks a rule is warned about and recorded in the audit log, and admitted.',
    suffix: '',
  },
  {
    path: 'deploy/policies/static/validating/vmcp-admission.yaml',
    actions: ['Deny'],
    comment:
      'deny.yaml as a file of the API server: in the staticManifestsDir of its plugin ValidatingAdmissionPolicy.',
    suffix: STATIC,
  },
] as const

/** deploy/policies: the rules that the API server itself can enforce (docs/policies.md). */
export function* policies(): Iterable<GeneratedFile> {
  const kinds = KINDS.filter((kind) => heldBy(kind).length > 0)
  for (const { path, actions, comment, suffix } of FILES) {
    const documents = kinds.flatMap((kind) => {
      const name = policyName(kind, suffix)
      return [policyOf(kind, name), bindingOf(name, actions)]
    })
    yield policyFile(path, comment, documents)
  }
}

interface HeldPlace extends RulePlace {
  readonly expression: string
}

/** The rules that ValidatingAdmissionPolicies enforce, each with the path that it checks. */
export function heldPlaces(): HeldPlace[] {
  return rulePlaces().flatMap((place) => {
    const { policy } = place.rule
    return policy && 'expression' in policy ? [{ ...place, expression: policy.expression }] : []
  })
}

const heldBy = (kind: Kind) => heldPlaces().filter((place) => place.kind === kind)

function policyOf(kind: Kind, name: string) {
  const held = heldBy(kind)
  const parts = new Map(held.filter(({ at }) => at.length > 0).map(({ at }) => [variable(at), pathText(at)]))
  return {
    apiVersion: API,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      ...matchingWritesOf(kind),
      variables: [
        { name: variable([]), expression: SUBMITTED_AND_STORED },
        ...[...parts].map(([name, path]) => ({
          name,
          expression: `variables.${variable([])}.map(self, self.?${path.replaceAll('.', '.?')}.orValue({}))`,
        })),
      ],
      validations: held.map(({ rule, at, expression }) => ({
        expression: unlessStored(variable(at), expression),
        message: `${at.length === 0 ? 'spec' : pathText(at)} breaks a rule: ${rule.summary.replace(/\.$/, '')} (${rule.id})`,
      })),
    },
  }
}

/**
 * A CEL list of the submitted object, and of the stored object or an empty map. `dyn` removes the types, because
 * schemas differ between releases, and fields that `x-kubernetes-preserve-unknown-fields` keeps have no type.
 */
const SUBMITTED_AND_STORED = '[dyn(object), dyn(oldObject) == null ? {} : dyn(oldObject)]'

/**
 * The CEL variable for a part of the submitted and the stored object; named like the field, or `resource` for the whole
 * object.
 */
const variable = (at: readonly Segment[]) => (at.length === 0 ? 'resource' : pathText(at.slice(-1)))

/** CEL that is false only when the stored object satisfies the rule and the submitted object does not (decision 8). */
function unlessStored(name: string, expression: string): string {
  return `variables.${name}.map(self,\n${indented(expression)}\n) != [false, true]`
}

/** The lines of an expression, indented by two columns instead of by their indent in the source. */
function indented(expression: string): string {
  const lines = expression.split('\n').filter((line) => line.trim() !== '')
  const depth = Math.min(...lines.map((line) => line.search(/\S/)))
  return lines.map((line) => `  ${line.slice(depth)}`).join('\n')
}

function bindingOf(name: string, validationActions: readonly string[]) {
  return {
    apiVersion: API,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions },
  }
}
