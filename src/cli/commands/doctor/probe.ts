import { randomUUID } from 'node:crypto'
import { probeAnswer } from '../../../arming/index.ts'
import { probeAnnotation, WEBHOOK_NAME } from '../../../registration/index.ts'
import { labelsSelectedBy } from '../../../configuration/label-selector.ts'
import { Findings, type CheckedInstallation } from './findings.ts'
import type { Setups } from './setup.ts'

export interface Probe {
  readonly outcome: 'reached' | 'not reached' | 'not known'
  /** The answer of the API server to the dry run. */
  readonly answer: string
}

/** Messages of the API server when it cannot call the webhook, with cause and remedy; the first match is used. */
const FAILURES: readonly [sign: RegExp, meaning: string, remedy: string][] = [
  [
    /client certificate|remote error: tls: /,
    'the API server presents no client certificate that the webhook accepts',
    'make --client-ca and --client-names match the certificate in the admission kubeconfig of the API server, or set neither',
  ],
  [
    /x509|tls: /,
    'the API server does not trust the certificate of the webhook: another CA, or another name',
    'compare the fingerprints that doctor prints',
  ],
  [
    /no endpoints available/,
    'no pod of the server is ready behind the Service',
    'see why: kubectl -n NAMESPACE describe pods -l app.kubernetes.io/name=vmcp-admission',
  ],
  [/service "[^"]*" not found/, 'the Service does not exist', 'install the chart'],
  [
    /connection refused/,
    'nothing listens at the address of the webhook',
    'check that the server runs, and that targetPort of the Service is its --port',
  ],
  [
    /no such host|lookup /,
    'the API server cannot resolve the name of the webhook',
    'check the URL in the webhook configurations, and the DNS of the API server',
  ],
  [
    /no route to host|network is unreachable/,
    'the API server has no route to the webhook',
    'check the pod network and the network policies',
  ],
  [
    /No agent available|error dialing backend|proxy error/,
    'the tunnel from the control plane to the nodes is down',
    'check its agents: kubectl -n kube-system get pods',
  ],
  [
    /deadline exceeded|timeout|timed out|Client\.Timeout/i,
    'the webhook did not answer in time: packets are dropped on the way, or the server is too slow',
    'allow the API server to reach the port of the webhook in NetworkPolicies and in the firewall of a private cluster (ports.webhook, hostNetwork in the chart)',
  ],
]

/**
 * Sends a dry run of an object with an annotation that makes the webhook refuse the object: the refusal proves that
 * the API server calls the webhook. `url` is the URL in the webhook configurations; undefined if they name a Service.
 */
export async function tryProbe(
  place: CheckedInstallation,
  setups: Setups,
  url?: string,
): Promise<{ readonly findings: Findings; readonly probe: Probe }> {
  const findings = new Findings()
  const { opened, group, namespace } = place
  const nonce = randomUUID()
  const object = `dry run in namespace ${namespace}`
  let answer: string | undefined
  try {
    const labels = labelsSelectedBy(setups.leader?.objectSelector ?? {})
    answer = await opened.registrations.tryProbe(probeAnnotation(group), nonce, labels)
  } catch (error) {
    findings.unread(object, error)
    return { findings, probe: { outcome: 'not known', answer: String(error) } }
  }
  if (answer?.includes(probeAnswer(nonce)))
    return {
      findings,
      probe: { outcome: 'reached', answer: 'the API server called the webhook, and it answered' },
    }
  if (answer === undefined) {
    const remedy =
      'the webhook configuration is missing, or its failurePolicy is Ignore and the call failed: the log of the API server says why after "failed calling webhook"; the findings above may say it too'
    findings.problem(
      'not-reached',
      object,
      'the API server stored the object without the answer of the webhook',
      remedy,
    )
    return { findings, probe: { outcome: 'not reached', answer: 'stored without the answer of the webhook' } }
  }
  if (/^403 .* is forbidden: User /.test(answer) || answer.startsWith('401 ')) {
    findings.unread(object, answer)
    return { findings, probe: { outcome: 'not known', answer } }
  }
  const [message, remedy] = meaningOf(answer, namespace, url)
  findings.problem('not-reached', object, `${message}: ${answer}`, remedy)
  return { findings, probe: { outcome: 'not reached', answer } }
}

function meaningOf(
  answer: string,
  namespace: string,
  url: string | undefined,
): [message: string, remedy: string] {
  if (answer.includes('failed calling webhook')) {
    const name = /failed calling webhook "([^"]*)"/.exec(answer)?.[1] ?? ''
    if (name.includes(WEBHOOK_NAME)) {
      const [, meaning, remedy] = FAILURES.find(([sign]) => sign.test(answer)) ?? []
      // When the webhook configurations name a URL, there is no Service to check.
      if (url !== undefined && answer.includes('connection refused'))
        return [meaning ?? '', `check that the server runs at ${url}`]
      return [
        meaning ?? 'calls of the webhook fail',
        remedy?.replace('NAMESPACE', namespace) ?? 'see the log of the server',
      ]
    }
    return [`another webhook, ${name}, fails first`, 'fix or remove it']
  }
  if (/namespaces? "[^"]*" not found/.test(answer))
    return [
      `namespace ${namespace} does not exist`,
      'name the namespace of the installation with --namespace',
    ]
  if (answer.startsWith('404 ')) return ['MCPExternalAuthConfig is not served', 'install the CRDs']
  return [
    'another webhook, policy or quota refused it first',
    'find it by this message, and let it admit MCPExternalAuthConfigs in this namespace',
  ]
}
