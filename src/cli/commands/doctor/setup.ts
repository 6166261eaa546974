import { type LabelSelector, parseLabelSelector } from '../../../configuration/label-selector.ts'
import { LEADER_NAME, WEBHOOK_NAME } from '../../../arming/webhook-configurations.ts'
import { listOf, part, textsOf } from './findings.ts'

/** The settings of one Deployment of the server, read from its arguments. */
export interface Setup {
  readonly deployment: string
  readonly role: string
  readonly arming: string
  readonly certificates: string
  readonly watched: readonly string[]
  readonly checkSecrets: boolean
  readonly owner: string
  readonly account: string
  readonly probePort: string
  readonly namespaceSelector: LabelSelector
}

/** The Deployments of an installation: the one that answers reviews, and the leader. Undefined when not known. */
export interface Setups {
  readonly webhook: Setup | undefined
  readonly leader: Setup | undefined
}

/** From the two Deployments that the chart may have; the second is there when the leader runs by itself. */
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
    // The server's default.
    role: valueOf('role') ?? 'all',
    arming: valueOf('arming') ?? 'off',
    certificates: valueOf('certificates') ?? 'local',
    watched: (valueOf('watch-namespaces') ?? '').split(',').filter((name) => name !== ''),
    checkSecrets: args.some((arg) => /^--check-secrets($|=(?!off$))/.test(arg)),
    owner: valueOf('owner-cluster-role') ?? '',
    probePort: valueOf('probe-port') ?? '8080',
    account: typeof account === 'string' ? account : 'default',
    namespaceSelector: selectorIn(valueOf('namespace-selector') ?? ''),
  }
}

/** A server whose selector cannot be read does not start, so it writes none. */
function selectorIn(text: string): LabelSelector {
  try {
    return parseLabelSelector(text)
  } catch {
    return {}
  }
}

/** The command that prints the log of the leader; words where the leader has no Deployment. */
export const seeLog = ({ leader }: Setups, namespace: string): string =>
  leader === undefined
    ? 'start one, or see its log'
    : `see why not: kubectl -n ${namespace} logs deploy/${leader.deployment}`

export const CONFIGURATIONS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const

/** The Secret in which the replicas keep their CA. */
export const CA_SECRET = 'vmcp-admission-ca'
