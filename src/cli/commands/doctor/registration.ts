import { isDeepStrictEqual } from 'node:util'
import { drift, managerOf, policyOf, wantedConfigurations } from '../../../arming/reconcile.ts'
import { KINDS } from '../../../kinds/index.ts'
import { type ClientConfig, WEBHOOK_NAME, WEBHOOK_TIMEOUT } from '../../../registration/index.ts'
import { isObject } from '../../../rule/index.ts'
import { Findings, listOf, part, type CheckedInstallation, textsOf, UNREAD } from './findings.ts'
import { CONFIGURATIONS, seeLog, type Setups } from './setup.ts'

type Stored = Readonly<Record<string, unknown>>

export const entriesOf = (configuration: unknown): Record<string, unknown>[] =>
  listOf(part(configuration, 'webhooks')).filter(isObject)

/** The URL to which a webhook configuration sends reviews; undefined when it names a Service instead. */
export function urlOf(configuration: unknown): string | undefined {
  const url = entriesOf(configuration)
    .map((entry) => part(entry, 'clientConfig', 'url'))
    .find((each) => typeof each === 'string')
  return url?.replace(/\/(validate|mutate)$/, '')
}

/** Compares both webhook configurations with those that this version of the program writes. */
export function checkRegistrations(
  stored: readonly (Stored | undefined)[],
  setups: Setups,
  place: CheckedInstallation,
): Findings {
  const findings = new Findings()
  const manager = `Lease ${place.namespace}/${WEBHOOK_NAME}`
  const wanted = wantedConfigurations({
    group: place.group,
    failurePolicy: policyOf(stored[0]) ?? 'Fail',
    clientConfig: (path) => clientConfig(path, urlOf(stored[0]) ?? urlOf(stored[1]), place),
    owner: undefined,
    namespaceSelector: setups.leader?.namespaceSelector ?? {},
    objectSelector: setups.leader?.objectSelector ?? {},
    timeoutSeconds: setups.leader?.timeoutSeconds ?? WEBHOOK_TIMEOUT,
    manager,
    breakGlass: '',
  })
  const other = stored.map(managerOf).find((each) => each !== undefined && each !== manager)
  if (other !== undefined) {
    findings.problem(
      'another-installation',
      'webhook configurations',
      `are managed by another installation (${other}), so this one does not write them`,
      'a cluster has one installation: uninstall one of the two, or run doctor with --namespace of the other',
    )
    return findings
  }
  for (const [i, kind] of CONFIGURATIONS.entries()) {
    const configuration = stored[i]
    const object = `${kind} ${WEBHOOK_NAME}`
    if (configuration === undefined)
      findings.problem('configuration-missing', object, 'not found', remedyFor(setups, place))
    else compare(entriesOf(wanted[i]), entriesOf(configuration), { object, setups, place, findings })
  }
  checkPolicy(stored[0], setups, findings)
  return findings
}

interface Comparison {
  readonly object: string
  readonly setups: Setups
  readonly place: CheckedInstallation
  readonly findings: Findings
}

const armingOf = ({ leader, webhook }: Setups) => (leader ?? webhook)?.arming

const remedyFor = (setups: Setups, { namespace }: CheckedInstallation) =>
  armingOf(setups) === 'off'
    ? 'apply deploy/static-webhooks.yaml of this version'
    : `a server with --arming on writes it within seconds; ${seeLog(setups, namespace)}`

function clientConfig(
  path: '/validate' | '/mutate',
  url: string | undefined,
  { namespace, service }: CheckedInstallation,
): ClientConfig {
  return url === undefined ? { service: { namespace, name: service, port: 443, path } } : { url: url + path }
}

function checkPolicy(stored: unknown, setups: Setups, findings: Findings): void {
  if (stored === undefined || policyOf(stored as Stored) === 'Fail') return
  const object = `${CONFIGURATIONS[0]} ${WEBHOOK_NAME}`
  const message =
    'is not armed: failurePolicy is Ignore, so the API server admits a write when a call of the webhook fails'
  if (armingOf(setups) === 'ignore') findings.note('not-armed', object, `${message} (--arming=ignore)`)
  else {
    const remedy =
      armingOf(setups) === 'off'
        ? 'set failurePolicy to Fail in your copy of deploy/static-webhooks.yaml'
        : 'a server with --arming on sets Fail once the API server has reached it; the probe below says what prevents that'
    findings.problem('not-armed', object, message, remedy)
  }
}

function compare(
  wanted: readonly Record<string, unknown>[],
  stored: readonly Record<string, unknown>[],
  comparison: Comparison,
): void {
  const { object, setups, place, findings } = comparison
  for (const entry of wanted) {
    const name = String(entry.name)
    const found = stored.find((each) => each.name === name)
    if (found === undefined) {
      findings.problem('entry-missing', object, `has no entry ${name}`, remedyFor(setups, place))
      continue
    }
    checkSelectors(name, entry, found, comparison)
    checkRules(name, entry, found, comparison)
    const own = ['namespaceSelector', 'objectSelector', 'rules']
    const rest = Object.fromEntries(Object.entries(entry).filter(([field]) => !own.includes(field)))
    const at = drift(rest, found)
    if (at !== undefined)
      findings.problem(
        'configuration-drift',
        object,
        `${name}: ${at} is ${shortJson(at, found)}, and this version writes ${shortJson(at, rest)}`,
        remedyFor(setups, place),
      )
  }
  const names = new Set(wanted.map((entry) => entry.name))
  const others = stored.filter((each) => !names.has(each.name)).map((each) => String(each.name))
  if (others.length > 0)
    findings.problem(
      'entry-unknown',
      object,
      `has entries that this version does not write: ${others.join(', ')}`,
      remedyFor(setups, place),
    )
}

/** Reports selectors of a stored webhook that differ from the settings, or that limit which objects are judged. */
function checkSelectors(name: string, wanted: Stored, stored: Stored, comparison: Comparison): void {
  const { object, setups, place, findings } = comparison
  for (const [field, flag] of [
    ['namespaceSelector', '--namespace-selector'],
    ['objectSelector', '--object-selector'],
  ] as const) {
    const selector = stored[field]
    const isSet = !isDeepStrictEqual(wanted[field], {})
    if (isSet && !isDeepStrictEqual(selector, wanted[field])) {
      const remedy = remedyFor(setups, place)
      findings.problem(
        'configuration-drift',
        object,
        `${name}: ${field} is ${shortJson(field, stored)}, and ${flag} says ${shortJson(field, wanted)}`,
        remedy,
      )
      continue
    }
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
    const [subject, others] =
      field === 'namespaceSelector'
        ? ['namespaces', 'objects of other namespaces']
        : ['objects', 'other objects']
    const message = `${name}: applies only to ${subject} with ${conditions.join(' and ')}; the webhook does not judge ${others}`
    const isOff = armingOf(setups) === 'off'
    if (isSet) noteSelector(`${subject} with ${conditions.join(' and ')}, as ${flag}`, others, findings)
    else if (isNames && isOff) findings.note('excluded', object, message)
    else
      findings.problem(
        'excluded',
        object,
        message,
        isOff
          ? 'a user who may set that label bypasses the webhook: select by kubernetes.io/metadata.name, or remove the selector'
          : `a server with --arming on removes the selector within seconds (to keep one, set ${flag}); ${seeLog(setups, place.namespace)}`,
      )
  }
}

/** Adds a note, once for all webhooks, that a selector from the settings limits which objects are judged. */
function noteSelector(selected: string, others: string, findings: Findings): void {
  const message = `apply only to ${selected} says; the webhook does not judge ${others}`
  if (findings.found.some((each) => each.message === message)) return
  findings.note('selected', 'webhook configurations', message)
}

function checkRules(name: string, wanted: Stored, stored: Stored, comparison: Comparison): void {
  const at = drift(wanted.rules, stored.rules, 'rules')
  if (at === undefined) return
  const { object, setups, place, findings } = comparison
  const listed = new Set(listOf(stored.rules).flatMap((rule) => textsOf(part(rule, 'resources'))))
  const meant = textsOf(part(wanted.rules, 0, 'resources'))
  const lacking = listed.has('*')
    ? []
    : KINDS.filter(({ plural }) => meant.includes(plural) && !listed.has(plural))
  const message =
    lacking.length > 0
      ? `its rules lack ${lacking.map(({ plural }) => plural).join(', ')}`
      : `${at} is ${shortJson(at, stored)}, and this version writes ${shortJson(at, wanted)}`
  findings.problem(
    lacking.length > 0 ? 'rules-lack-kind' : 'configuration-drift',
    object,
    `${name}: ${message}`,
    remedyFor(setups, place),
  )
}

const LONGEST = 60

/** The value at a path such as `rules[0].resources`, as shortened JSON; `missing` when the path does not exist. */
function shortJson(at: string, entry: Stored): string {
  const path = at.split(/[.[\]]/).filter((each) => each !== '')
  const value = part(entry, ...path)
  const text = value === undefined ? 'missing' : JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

/** Returns notes about other webhooks and policies that apply to the resources that this webhook judges. */
export async function checkOthers({ opened, group }: CheckedInstallation): Promise<Findings> {
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
      // Skips the policies of this project, whose names begin with the name of the webhook.
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
          `also applies to ${resources.length === KINDS.length ? 'all seven kinds' : resources.join(', ')}: it may refuse or change what the webhook admits`,
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
