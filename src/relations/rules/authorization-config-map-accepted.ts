import {
  advice,
  defineRule,
  dependingOn,
  end,
  isObject,
  type Other,
  pathTo,
  relatedTo,
  shortQuote,
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
    toldBy: 'operator',
    consequence: 'does not start',
    threads: [],
  },
  sources: ['decision 3', 'decision 22'],
  *check(authzConfig, { path, cluster, self }) {
    const found = configMapPolicies(authzConfig, cluster)
    if (found === undefined) return
    const { name, key, value } = found
    const detail = problem(value, self.kind === 'VirtualMCPServer')
    if (detail === undefined) return
    const named = { kind: 'ConfigMap', name }
    yield relatedTo(
      dependingOn(
        advice(path.configMap, `the ConfigMap ${shortQuote(name)} is refused, ${key}: ${detail}`),
        named,
      ),
      [end(named, pathTo(['data', { key }]), 'the policies are here')],
    )
  },
  examples: {
    valid: [
      { title: 'policies', value: NAMED, others: [configMap(WHOLE)] },
      {
        title: 'a server of policies, at a workload',
        kind: 'MCPServer',
        value: NAMED,
        others: [
          configMap({ version: '1.0', type: 'httpv1', pdp: { http: { url: 'http://localhost:9000' } } }),
        ],
      },
    ],
    invalid: [
      {
        title: 'no version',
        value: NAMED,
        others: [configMap({ type: 'cedarv1', cedar: { policies: [PERMIT] } })],
        findings: [
          'configMap: the ConfigMap "policies" is refused, authz.json: has no version; write "version": "1.0"',
        ],
      },
      {
        title: 'a list of policies alone',
        value: NAMED,
        others: [configMap({ version: '1.0', type: 'cedarv1', policies: [PERMIT] })],
        findings: [
          'configMap: the ConfigMap "policies" is refused, authz.json: has no cedar; write the policies as "cedar": {"policies": […]}',
        ],
      },
      {
        title: 'the type of a VirtualMCPServer',
        value: NAMED,
        others: [configMap({ ...WHOLE, type: 'cedar' })],
        findings: [
          'configMap: the ConfigMap "policies" is refused, authz.json: "cedar" is not a type; write "type": "cedarv1"',
        ],
      },
      {
        title: 'no policies',
        value: NAMED,
        others: [configMap({ ...WHOLE, cedar: { policies: [] } })],
        findings: ['configMap: the ConfigMap "policies" is refused, authz.json: has no policies'],
      },
      {
        title: 'a server of policies',
        kind: 'VirtualMCPServer',
        value: NAMED,
        others: [configMap({ version: '1.0', type: 'httpv1', pdp: {} })],
        findings: [
          'configMap: the ConfigMap "policies" is refused, authz.json: a VirtualMCPServer takes the type cedarv1 alone',
        ],
      },
      {
        title: 'entities that are not a text',
        value: NAMED,
        others: [configMap({ ...WHOLE, cedar: { policies: [PERMIT], entities_json: [] } })],
        findings: [
          'configMap: the ConfigMap "policies" is refused, authz.json: entities_json must be a text of JSON, in quotes',
        ],
      },
    ],
  },
})

/** What the operator refuses a value for. Go reads names of fields whatever their case. */
function problem(given: PolicyValue, isGateway: boolean): string | undefined {
  if (given.kind === 'empty') return 'is empty'
  if (given.kind === 'invalid') return 'is neither JSON nor YAML'
  if (given.kind !== 'read') return undefined
  if (!isObject(given.value)) return 'must be an object with version, type and cedar'
  const fields = new Map(Object.entries(given.value).map(([name, value]) => [name.toLowerCase(), value]))
  for (const [name, example] of [
    ['version', '1.0'],
    ['type', 'cedarv1'],
  ] as const) {
    const value = fields.get(name) ?? ''
    if (typeof value !== 'string') return `${name} must be a text; write "${name}": "${example}"`
    if (value === '') return `has no ${name}; write "${name}": "${example}"`
  }
  const type = String(fields.get('type'))
  if (type !== 'cedarv1' && type !== 'httpv1')
    return `${shortQuote(type)} is not a type; write "type": "cedarv1"`
  if (type === 'httpv1') return isGateway ? 'a VirtualMCPServer takes the type cedarv1 alone' : undefined
  const cedar = fields.get('cedar') ?? undefined
  if (cedar === undefined)
    return fields.has('policies')
      ? 'has no cedar; write the policies as "cedar": {"policies": […]}'
      : 'has no cedar; write "cedar": {"policies": […]}'
  if (!isObject(cedar)) return 'cedar must be an object with policies'
  const { policies = [], entities_json: entities = '' } = cedar
  if (!Array.isArray(policies) && policies !== null) return 'policies must be an array of texts'
  if (policies === null || policies.length === 0) return 'has no policies'
  if (!policies.every((policy) => typeof policy === 'string')) return 'policies must be an array of texts'
  if (typeof entities !== 'string' && entities !== null)
    return 'entities_json must be a text of JSON, in quotes'
  return undefined
}
