import { isDeepStrictEqual } from 'node:util'
import { drift, policyOf, wantedConfigurations } from '../../arming/configurations.ts'
import { KINDS } from '../../kinds/index.ts'
import { type ClientConfig, WEBHOOK_NAME } from '../../kinds/registration.ts'
import { isObject } from '../../rule/resource.ts'
import { Findings, listOf, part, type Place, textsOf, UNREAD } from './findings.ts'
import { CONFIGURATIONS, DELETE, type Setup } from './setup.ts'

type Stored = Readonly<Record<string, unknown>>

export const entriesOf = (configuration: unknown): Record<string, unknown>[] =>
  listOf(part(configuration, 'webhooks')).filter(isObject)

/** The URL by which the API server is told to reach the webhook; undefined when it is by a Service. */
export function urlOf(configuration: unknown): string | undefined {
  const url = entriesOf(configuration)
    .map((entry) => part(entry, 'clientConfig', 'url'))
    .find((each) => typeof each === 'string')
  return url?.replace(/\/(validate|mutate)$/, '')
}

/** Both configurations beside what this version would write. */
export function checkRegistrations(
  stored: readonly (Stored | undefined)[],
  setup: Setup | undefined,
  place: Place,
): Findings {
  const findings = new Findings()
  const wanted = wantedConfigurations({
    group: place.group,
    failurePolicy: policyOf(stored[0]) ?? 'Fail',
    clientConfig: (path) => clientConfig(path, urlOf(stored[0]) ?? urlOf(stored[1]), place),
    owner: undefined,
  })
  for (const [i, kind] of CONFIGURATIONS.entries()) {
    const configuration = stored[i]
    const object = `${kind} ${WEBHOOK_NAME}`
    if (configuration === undefined)
      findings.problem('configuration-missing', object, 'not found', mend(setup, place))
    else compare(entriesOf(wanted[i]), entriesOf(configuration), { kind, object, setup, place, findings })
  }
  checkPolicy(stored[0], setup, findings)
  return findings
}

interface Comparison {
  readonly kind: string
  readonly object: string
  readonly setup: Setup | undefined
  readonly place: Place
  readonly findings: Findings
}

const mend = (setup: Setup | undefined, { namespace }: Place) =>
  setup?.arming === 'off'
    ? 'apply deploy/static-webhooks.yaml of this version'
    : `a server with --arming on writes it within seconds; see why not: kubectl -n ${namespace} logs deploy/${WEBHOOK_NAME}`

function clientConfig(
  path: '/validate' | '/mutate',
  url: string | undefined,
  { namespace, service }: Place,
): ClientConfig {
  return url === undefined ? { service: { namespace, name: service, port: 443, path } } : { url: url + path }
}

function checkPolicy(stored: unknown, setup: Setup | undefined, findings: Findings): void {
  if (stored === undefined || policyOf(stored as Stored) === 'Fail') return
  const object = `${CONFIGURATIONS[0]} ${WEBHOOK_NAME}`
  const message =
    'is not armed: failurePolicy is Ignore, so that whatever the webhook cannot be asked about is admitted'
  if (setup?.arming === 'ignore') findings.note('not-armed', object, `${message} (--arming=ignore)`)
  else {
    const remedy =
      setup?.arming === 'off'
        ? 'set failurePolicy to Fail in your copy of deploy/static-webhooks.yaml'
        : 'a server with --arming on sets Fail once the API server has reached it; the probe below says what is in the way'
    findings.problem('not-armed', object, message, remedy)
  }
}

function compare(
  wanted: readonly Record<string, unknown>[],
  stored: readonly Record<string, unknown>[],
  comparison: Comparison,
): void {
  const { object, setup, place, findings } = comparison
  for (const entry of wanted) {
    const name = String(entry.name)
    const found = stored.find((each) => each.name === name)
    if (found === undefined) {
      findings.problem('entry-missing', object, `has no entry ${name}`, mend(setup, place))
      continue
    }
    checkSelectors(name, found, comparison)
    checkRules(name, entry, found, comparison)
    const own = ['namespaceSelector', 'objectSelector', 'rules']
    const rest = Object.fromEntries(Object.entries(entry).filter(([field]) => !own.includes(field)))
    const at = drift(rest, found)
    if (at !== undefined)
      findings.problem(
        'configuration-drift',
        object,
        `${name}: ${at} is ${show(at, found)}, and this version writes ${show(at, rest)}`,
        mend(setup, place),
      )
  }
  const names = new Set(wanted.map((entry) => entry.name))
  const others = stored.filter((each) => !names.has(each.name)).map((each) => String(each.name))
  if (others.length > 0)
    findings.problem(
      'entry-unknown',
      object,
      `has entries that this version does not write: ${others.join(', ')}`,
      mend(setup, place),
    )
}

/** A selector leaves out what this version asks about. */
function checkSelectors(name: string, stored: Stored, { kind, object, setup, findings }: Comparison): void {
  for (const field of ['namespaceSelector', 'objectSelector']) {
    const selector = stored[field]
    if (!isObject(selector) || isDeepStrictEqual(selector, {})) continue
    const conditions = [
      ...Object.entries(isObject(selector.matchLabels) ? selector.matchLabels : {}).map(
        ([label, value]) => `${label}=${String(value)}`,
      ),
      ...listOf(selector.matchExpressions).map((each) => {
        const values = textsOf(part(each, 'values')).join(', ')
        return `${String(part(each, 'key'))} ${String(part(each, 'operator'))}${values === '' ? '' : ` (${values})`}`
      }),
    ]
    const isNames =
      field === 'namespaceSelector' &&
      selector.matchLabels === undefined &&
      listOf(selector.matchExpressions).every((each) => part(each, 'key') === 'kubernetes.io/metadata.name')
    const subject = field === 'namespaceSelector' ? 'namespaces' : 'objects'
    const message = `${name}: asks about ${subject} with ${conditions.join(' and ')} only; all others go unjudged`
    if (isNames && setup?.arming === 'off') findings.note('excluded', object, message)
    else
      findings.problem(
        'excluded',
        object,
        message,
        setup?.arming === 'off'
          ? 'whoever may set such a label gets round the webhook: select by kubernetes.io/metadata.name, or not at all'
          : `a server with --arming on takes the selector away within seconds; by hand: ${DELETE(kind)}`,
      )
  }
}

function checkRules(name: string, wanted: Stored, stored: Stored, comparison: Comparison): void {
  const at = drift(wanted.rules, stored.rules, 'rules')
  if (at === undefined) return
  const { object, setup, place, findings } = comparison
  const listed = new Set(listOf(stored.rules).flatMap((rule) => textsOf(part(rule, 'resources'))))
  const meant = textsOf(part(wanted.rules, 0, 'resources'))
  const lacking = listed.has('*')
    ? []
    : KINDS.filter(({ plural }) => meant.includes(plural) && !listed.has(plural))
  const message =
    lacking.length > 0
      ? `its rules lack ${lacking.map(({ plural }) => plural).join(', ')}`
      : `${at} is ${show(at, stored)}, and this version writes ${show(at, wanted)}`
  findings.problem(
    lacking.length > 0 ? 'rules-lack-kind' : 'configuration-drift',
    object,
    `${name}: ${message}`,
    mend(setup, place),
  )
}

const LONGEST = 60

/** A value as JSON, not too long. */
function show(at: string, entry: Stored): string {
  const path = at.split(/[.[\]]/).filter((each) => each !== '')
  const value = part(entry, ...path)
  const text = value === undefined ? 'missing' : JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

/** Who else is asked about the same resources. */
export async function checkOthers({ opened, group }: Place): Promise<Findings> {
  const findings = new Findings()
  const kinds = [
    ['ValidatingWebhookConfiguration', 'validatingwebhookconfigurations'],
    ['MutatingWebhookConfiguration', 'mutatingwebhookconfigurations'],
    ['ValidatingAdmissionPolicy', 'validatingadmissionpolicies'],
  ] as const
  for (const [kind, plural] of kinds) {
    const listed = await findings.read(kind, () => opened.installation.listAdmission(plural))
    for (const each of listed === UNREAD ? [] : listed) {
      const name = String(part(each, 'metadata', 'name'))
      // Our own, and those of deploy/policies.
      if (name === WEBHOOK_NAME || (kind === 'ValidatingAdmissionPolicy' && name.startsWith(WEBHOOK_NAME)))
        continue
      const rules = [
        ...entriesOf(each).flatMap((entry) => listOf(entry.rules)),
        ...listOf(part(each, 'spec', 'matchConstraints', 'resourceRules')),
      ]
      const resources = KINDS.map((one) => one.plural).filter((one) =>
        rules.some((rule) => meets(rule, group, one)),
      )
      if (resources.length > 0)
        findings.note(
          'shadowed',
          `${kind} ${name}`,
          `is asked about ${resources.length === KINDS.length ? 'all seven kinds' : resources.join(', ')} too: it may refuse or change what the webhook admits`,
        )
    }
  }
  return findings
}

function meets(rule: unknown, group: string, plural: string): boolean {
  const groups = textsOf(part(rule, 'apiGroups'))
  const resources = textsOf(part(rule, 'resources'))
  return (
    (groups.includes('*') || groups.includes(group)) &&
    resources.some((each) => ['*', '*/*', plural, `${plural}/*`].includes(each))
  )
}
