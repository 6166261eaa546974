import {
  advice,
  defineRule,
  dependingOn,
  end,
  goField,
  isObject,
  type Other,
  pathTo,
  relatedTo,
  shortQuote,
  shortText,
} from '../../rule/index.ts'
import { AuthzConfig } from '../../kinds/schemas.ts'
import { configMapPolicies, PERMIT, type PolicyValue } from '../index.ts'

const configMap = (value: unknown): Other =>
  ({
    kind: 'ConfigMap',
    metadata: { name: 'policies' },
    data: { 'authz.json': typeof value === 'string' ? value : JSON.stringify(value) },
  }) as unknown as Other

const WHOLE = { version: '1.0', type: 'cedarv1', cedar: { policies: [PERMIT], entities_json: '[]' } }

const NAMED = { type: 'configMap' as const, configMap: { name: 'policies' } }

export const authorizationConfigMapAccepted = defineRule({
  id: 'authorization-config-map-accepted',
  on: AuthzConfig,
  reads: ['ConfigMap'],
  severity: 'warning',
  summary:
    'A ConfigMap of policies has a version, a type, and at least one policy (only where ConfigMaps may be looked at).',
  why: 'The operator does not reconcile a resource with other policies; where it does not look, the pod ends at its start.',
  failure: {
    symptom:
      "`invalid authz config from ConfigMap …`: `version is required`, `type is required`, `unsupported configuration type`, `missing 'cedar' field`, `at least one policy is required`",
    reportedBy: 'operator',
    consequence: 'does not start',
  },
  sources: ['decision 3', 'decision 22'],
  *check(authzConfig, context) {
    const { path, self } = context
    const found = configMapPolicies(authzConfig, context)
    if (found === undefined) return
    const { name, key, value } = found
    const detail = problem(value, self.kind === 'VirtualMCPServer')
    if (detail === undefined) return
    const named = { kind: 'ConfigMap', name }
    yield relatedTo(
      dependingOn(
        advice(
          path.configMap,
          `${shortText(key, 60)} of the ConfigMap ${shortQuote(shortText(name, 60))} is refused, so the server does not start: ${detail}`,
        ),
        named,
      ),
      [end(named, pathTo(['data', { key }]), 'the policies are here')],
    )
  },
  examples: {
    policies: { value: NAMED, others: [configMap(WHOLE)] },
    'a server of policies, at a workload': {
      kind: 'MCPServer',
      value: NAMED,
      others: [
        configMap({ version: '1.0', type: 'httpv1', pdp: { http: { url: 'http://localhost:9000' } } }),
      ],
    },
    'no version': {
      value: NAMED,
      others: [configMap({ type: 'cedarv1', cedar: { policies: [PERMIT] } })],
      findings:
        'configMap: authz.json of the ConfigMap "policies" is refused, so the server does not start: has no version; write "version": "1.0"',
    },
    'a list of policies alone': {
      value: NAMED,
      others: [configMap({ version: '1.0', type: 'cedarv1', policies: [PERMIT] })],
      findings:
        'configMap: authz.json of the ConfigMap "policies" is refused, so the server does not start: has no cedar; write the policies as "cedar": {"policies": […]}',
    },
    'the type of a VirtualMCPServer': {
      value: NAMED,
      others: [configMap({ ...WHOLE, type: 'cedar' })],
      findings:
        'configMap: authz.json of the ConfigMap "policies" is refused, so the server does not start: "cedar" is not a type; write "type": "cedarv1"',
    },
    'no policies': {
      value: NAMED,
      others: [configMap({ ...WHOLE, cedar: { policies: [] } })],
      findings:
        'configMap: authz.json of the ConfigMap "policies" is refused, so the server does not start: has no policies; write at least one',
    },
    'a server of policies': {
      kind: 'VirtualMCPServer',
      value: NAMED,
      others: [configMap({ version: '1.0', type: 'httpv1', pdp: {} })],
      findings:
        'configMap: authz.json of the ConfigMap "policies" is refused, so the server does not start: a VirtualMCPServer takes the type cedarv1 alone',
    },
    'entities that are not a text': {
      value: NAMED,
      others: [configMap({ ...WHOLE, cedar: { policies: [PERMIT], entities_json: [] } })],
      findings:
        'configMap: authz.json of the ConfigMap "policies" is refused, so the server does not start: entities_json must be a text of JSON, in quotes',
    },
  },
})

/**
 * Why the operator refuses the authorization settings in a ConfigMap; undefined when it accepts them, or when they are
 * not known.
 */
function problem(given: PolicyValue, isGateway: boolean): string | undefined {
  if (given.kind === 'empty') return 'is empty; write an object with version, type and cedar'
  if (given.kind === 'invalid') return `is neither JSON nor YAML: ${shortText(given.why, 100)}`
  if (given.kind !== 'read') return undefined
  const { value } = given
  if (!isObject(value)) return 'must be an object with version, type and cedar'
  for (const [name, example] of [
    ['version', '1.0'],
    ['type', 'cedarv1'],
  ] as const) {
    const field = goField(value, name) ?? ''
    if (typeof field !== 'string') return `${name} must be a text; write "${name}": "${example}"`
    if (field === '') return `has no ${name}; write "${name}": "${example}"`
  }
  const type = String(goField(value, 'type'))
  if (type !== 'cedarv1' && type !== 'httpv1')
    return `${shortQuote(shortText(type, 40))} is not a type; write "type": "cedarv1"`
  if (type === 'httpv1') return isGateway ? 'a VirtualMCPServer takes the type cedarv1 alone' : undefined
  const cedar = goField(value, 'cedar') ?? undefined
  if (cedar === undefined)
    return goField(value, 'policies') === undefined
      ? 'has no cedar; write "cedar": {"policies": […]}'
      : 'has no cedar; write the policies as "cedar": {"policies": […]}'
  if (!isObject(cedar)) return 'cedar must be an object with policies'
  const policies = goField(cedar, 'policies') ?? []
  if (!Array.isArray(policies)) return 'policies must be an array of texts'
  if (policies.length === 0) return 'has no policies; write at least one'
  if (!policies.every((policy) => typeof policy === 'string')) return 'policies must be an array of texts'
  if (typeof (goField(cedar, 'entities_json') ?? '') !== 'string')
    return 'entities_json must be a text of JSON, in quotes'
  return undefined
}
