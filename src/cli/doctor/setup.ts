import { WEBHOOK_NAME } from '../../kinds/registration.ts'
import { listOf, part, textsOf } from './findings.ts'

/** How the server is set, as far as the arguments in its Deployment say; undefined is not known. */
export interface Setup {
  readonly arming: string | undefined
  readonly certificates: string | undefined
  readonly watched: readonly string[]
  readonly checkSecrets: boolean
  readonly owner: string
  readonly account: string
}

export function setupOf(deployment: unknown): Setup | undefined {
  if (deployment === undefined) return undefined
  const pod = part(deployment, 'spec', 'template', 'spec')
  const args = listOf(part(pod, 'containers')).flatMap((each) => textsOf(part(each, 'args')))
  const valueOf = (flag: string) =>
    args.findLast((arg) => arg.startsWith(`--${flag}=`))?.slice(flag.length + 3)
  const account = part(pod, 'serviceAccountName')
  return {
    // What the server does without the flag.
    arming: valueOf('arming') ?? 'off',
    certificates: valueOf('certificates') ?? 'local',
    watched: (valueOf('watch-namespaces') ?? '').split(',').filter((name) => name !== ''),
    checkSecrets: args.includes('--check-secrets'),
    owner: valueOf('owner-cluster-role') ?? '',
    account: typeof account === 'string' ? account : 'default',
  }
}

export const CONFIGURATIONS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const

export const DELETE = (kind: string) => `kubectl delete ${kind.toLowerCase()} ${WEBHOOK_NAME}`

/** The Secret in which the replicas keep their CA. */
export const CA_SECRET = 'vmcp-admission-ca'
