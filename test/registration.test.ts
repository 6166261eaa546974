import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { parseLabelSelector } from '../src/configuration/label-selector.ts'
import { wantedConfigurations } from '../src/arming/reconcile.ts'
import {
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
} from '../src/registration/webhook-configurations.ts'

/** The expected webhooks, written by hand from the decisions. */
const ENTRIES = parse(`
validating:
- name: validate.vmcp-admission.toolhive.stacklok.dev
  clientConfig: { service: { namespace: vmcp-system, name: vmcp-admission, port: 443, path: /validate } }
  failurePolicy: Fail
  rules:
  - apiGroups: [toolhive.stacklok.dev]
    apiVersions: [v1beta1]
    operations: [CREATE, UPDATE]
    resources: &kinds
    - mcpexternalauthconfigs
    - mcpgroups
    - mcpoidcconfigs
    - mcpremoteproxies
    - mcpserverentries
    - mcpservers
    - virtualmcpservers
    scope: Namespaced
  matchConditions: &conditions
  - name: spec-changes
    expression: >-
      request.operation != 'UPDATE' ||
      (!has(object.metadata.deletionTimestamp) &&
      (has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)))
  matchPolicy: Equivalent
  sideEffects: None
  timeoutSeconds: 5
  admissionReviewVersions: [v1]
- name: delete.vmcp-admission.toolhive.stacklok.dev
  clientConfig: { service: { namespace: vmcp-system, name: vmcp-admission, port: 443, path: /validate } }
  failurePolicy: Ignore
  rules:
  - apiGroups: [toolhive.stacklok.dev]
    apiVersions: [v1beta1]
    operations: [DELETE]
    resources: [mcpexternalauthconfigs, mcpgroups, mcpoidcconfigs]
    scope: Namespaced
  matchPolicy: Equivalent
  sideEffects: None
  timeoutSeconds: 2
  admissionReviewVersions: [v1]
mutating:
- name: mutate.vmcp-admission.toolhive.stacklok.dev
  clientConfig: { service: { namespace: vmcp-system, name: vmcp-admission, port: 443, path: /mutate } }
  failurePolicy: Ignore
  reinvocationPolicy: IfNeeded
  rules:
  - apiGroups: [toolhive.stacklok.dev]
    apiVersions: [v1beta1]
    operations: [CREATE, UPDATE]
    resources: *kinds
    scope: Namespaced
  matchConditions: *conditions
  matchPolicy: Equivalent
  sideEffects: None
  timeoutSeconds: 5
  admissionReviewVersions: [v1]
`) as { readonly validating: readonly object[]; readonly mutating: readonly object[] }

const registration = {
  group: 'toolhive.stacklok.dev',
  failurePolicy: 'Fail',
  clientConfig: (path: string) => ({
    service: { namespace: 'vmcp-system', name: 'vmcp-admission', port: 443, path },
  }),
} as const

interface Written {
  readonly webhooks?: unknown
  readonly metadata?: unknown
}

/** Both expected configurations, with `beside` added to each webhook; their order does not matter. */
function expected(metadata: object, beside: object = {}): unknown {
  const of = (kind: string, webhooks: readonly object[]) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: 'vmcp-admission', ...metadata },
    webhooks: webhooks.map((entry) => ({ ...beside, ...entry })),
  })
  return sorted([
    of('ValidatingWebhookConfiguration', ENTRIES.validating),
    of('MutatingWebhookConfiguration', ENTRIES.mutating),
  ])
}

const sorted = (configurations: readonly Written[]): unknown =>
  JSON.parse(JSON.stringify(configurations), (field, value: unknown) =>
    field === 'resources' && Array.isArray(value) ? value.toSorted() : value,
  )

t.test('the webhook configurations are these, and no field more', async (t) => {
  const made = [validatingWebhookConfiguration(registration), mutatingWebhookConfiguration(registration)]
  t.strictSame(sorted(made), expected({}), 'the template')

  const free = { matchConditions: [], namespaceSelector: {}, objectSelector: {} }
  const own = {
    ...registration,
    owner: undefined,
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 5,
    manager: 'Lease a/b',
    breakGlass: 'stop it',
  }
  const said = {
    annotations: {
      'admissions.enforcer/disabled': 'true',
      'vmcp-admission/managed-by': 'Lease a/b',
      'vmcp-admission/break-glass': 'stop it',
    },
  }
  t.strictSame(
    sorted(wantedConfigurations(own)),
    expected(said, free),
    'the configurations of the server exclude no namespace',
  )
  const namespaceSelector = parseLabelSelector('kubernetes.io/metadata.name notin (a,b)')
  t.strictSame(
    sorted(wantedConfigurations({ ...own, namespaceSelector })),
    expected(said, { ...free, namespaceSelector }),
    'but for namespaces that the settings leave out',
  )
  const objectSelector = parseLabelSelector('!untouched')
  t.strictSame(
    sorted(wantedConfigurations({ ...own, objectSelector })),
    expected(said, { ...free, objectSelector }),
    'or objects',
  )
  for (const [timeoutSeconds, deletion] of [
    [1, 1],
    [30, 2],
  ] as const) {
    const waited = wantedConfigurations({ ...own, timeoutSeconds }).flatMap(
      ({ webhooks }) => webhooks as { timeoutSeconds: number }[],
    )
    t.strictSame(
      waited.map((each) => each.timeoutSeconds),
      [timeoutSeconds, deletion, timeoutSeconds],
    )
  }

  const file = fileURLToPath(new URL('../deploy/static-webhooks.yaml', import.meta.url))
  const documents = parseAllDocuments(readFileSync(file, 'utf8')).map((each) => each.toJS() as Written)
  const annotations = { 'cert-manager.io/inject-ca-from': 'vmcp-system/vmcp-admission' }
  t.strictSame(sorted(documents), expected({ annotations }), 'deploy/static-webhooks.yaml')
})

t.test('before it has proved itself it fails open, and with another group it is of that one', async (t) => {
  const other = { ...registration, group: 'vmcp.example', failurePolicy: 'Ignore' } as const
  const { webhooks } = validatingWebhookConfiguration(other)
  t.strictSame(
    webhooks.map(({ failurePolicy }) => failurePolicy),
    ['Ignore', 'Ignore'],
  )
  for (const { name, rules } of [...webhooks, ...mutatingWebhookConfiguration(other).webhooks]) {
    t.match(name, /^\w+\.vmcp-admission\.vmcp\.example$/)
    t.strictSame(
      rules.map(({ apiGroups }) => apiGroups),
      [['vmcp.example']],
    )
  }
})

t.test('selectors of labels are written as kubectl has them', async (t) => {
  for (const [text, conditions] of [
    ['', undefined],
    ['a=b', [{ key: 'a', operator: 'In', values: ['b'] }]],
    [
      'a==b, c!=',
      [
        { key: 'a', operator: 'In', values: ['b'] },
        { key: 'c', operator: 'NotIn', values: [''] },
      ],
    ],
    [
      'example.com/a in (b, c),!d,e',
      [
        { key: 'example.com/a', operator: 'In', values: ['b', 'c'] },
        { key: 'd', operator: 'DoesNotExist' },
        { key: 'e', operator: 'Exists' },
      ],
    ],
    ['in in (in)', [{ key: 'in', operator: 'In', values: ['in'] }]],
  ] as const)
    t.strictSame(
      parseLabelSelector(text),
      conditions === undefined ? {} : { matchExpressions: conditions },
      text,
    )
  for (const text of ['a=b,', 'a in b', 'a in (b', 'a = b = c', '-a', 'a notin (b c)', '{}', 'a/b/c'])
    t.throws(() => parseLabelSelector(text), /is not a condition on a label, such as environment=production/)
})
