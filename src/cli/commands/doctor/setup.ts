import { type LabelSelector, parseLabelSelector } from '../../../configuration/label-selector.ts'
import { ALL_IDS, parseSeveritySetting, severitiesOf, type SeveritySetting } from '../../../engine/index.ts'
import { LEADER_NAME, WEBHOOK_NAME, WEBHOOK_TIMEOUT } from '../../../registration/index.ts'
import { listOf, part, textsOf } from './findings.ts'

/** The settings of one Deployment of the server, as read from its arguments. */
export interface Setup {
  readonly deployment: string
  readonly role: string
  readonly arming: string
  readonly certificates: string
  readonly watched: readonly string[]
  readonly checkSecrets: boolean
  readonly checkConfigMaps: boolean
  readonly keepsReports: boolean
  /** Whether the server judges by the installed CRDs where they differ from the specification. */
  readonly followsRelease: boolean
  readonly owner: string
  readonly account: string
  readonly probePort: string
  readonly namespaceSelector: LabelSelector
  readonly objectSelector: LabelSelector
  readonly timeoutSeconds: number
  readonly mode: string
  /** The severities of the profile, then those in the flags; if a rule has several, the last one has effect. */
  readonly severities: readonly SeveritySetting[]
}

/** The Deployments of an installation: of the server that answers reviews, and of the leader; undefined if unknown. */
export interface Setups {
  readonly webhook: Setup | undefined
  readonly leader: Setup | undefined
}

/**
 * The settings in the chart's Deployments. The parameter `leader` is the separate Deployment of the leader; undefined
 * when there is none.
 */
export function setupsOf(deployment: unknown, leader: unknown): Setups {
  const webhook = setupOf(WEBHOOK_NAME, deployment)
  const separate = setupOf(LEADER_NAME, leader)
  return { webhook, leader: separate ?? (webhook?.role === 'webhook' ? undefined : webhook) }
}

function setupOf(name: string, deployment: unknown): Setup | undefined {
  if (deployment === undefined) return undefined
  const pod = part(deployment, 'spec', 'template', 'spec')
  const args = listOf(part(pod, 'containers')).flatMap((each) => textsOf(part(each, 'args')))
  const valueOf = (flag: string) =>
    args.findLast((arg) => arg.startsWith(`--${flag}=`))?.slice(flag.length + 3)
  const account = part(pod, 'serviceAccountName')
  return {
    deployment: name,
    // The default of the server's flag `--role`.
    role: valueOf('role') ?? 'all',
    arming: valueOf('arming') ?? 'off',
    certificates: valueOf('certificates') ?? 'local',
    watched: (valueOf('watch-namespaces') ?? '').split(',').filter((name) => name !== ''),
    checkSecrets: args.some((arg) => /^--check-secrets($|=(?!off$))/.test(arg)),
    checkConfigMaps: args.includes('--check-config-maps'),
    keepsReports: args.includes('--reports'),
    followsRelease: valueOf('installed-release') !== 'off',
    owner: valueOf('owner-cluster-role') ?? '',
    probePort: valueOf('probe-port') ?? '8080',
    account: typeof account === 'string' ? account : 'default',
    namespaceSelector: selectorIn(valueOf('namespace-selector') ?? ''),
    objectSelector: selectorIn(valueOf('object-selector') ?? ''),
    timeoutSeconds: Number(valueOf('webhook-timeout') ?? WEBHOOK_TIMEOUT),
    mode: valueOf('mode') ?? 'enforce',
    severities: [
      ...severitiesOf(valueOf('profile') === 'strict' ? 'strict' : 'standard'),
      ...args
        .filter((arg) => arg.startsWith('--severity='))
        .map((arg) => parseSeveritySetting(arg.slice('--severity='.length), ALL_IDS))
        .filter((each) => typeof each !== 'string'),
    ],
  }
}

/** The label selector in a flag; empty for a malformed selector, because no server runs with such a flag. */
function selectorIn(text: string): LabelSelector {
  try {
    return parseLabelSelector(text)
  } catch {
    return {}
  }
}

/** Advice when the leader has not done its work: the command that prints its log, if it runs in a Deployment. */
export const seeLog = ({ leader }: Setups, namespace: string): string =>
  leader === undefined
    ? 'start one, or see its log'
    : `see the log of the leader: kubectl -n ${namespace} logs deploy/${leader.deployment}`

export const CONFIGURATIONS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const

/** The Secret in which the replicas store their CA. */
export const CA_SECRET = 'vmcp-admission-ca'
