import { randomUUID } from 'node:crypto'
import { probeAnswer } from '../../../arming/index.ts'
import { probeAnnotation, WEBHOOK_NAME } from '../../../arming/webhook-configurations.ts'
import { Findings, type Place } from './findings.ts'

export interface Probe {
  readonly outcome: 'reached' | 'not reached' | 'not known'
  /** What the API server answered. */
  readonly answer: string
}

/** Messages of the API server about a failed call, with their causes; the first match counts. */
const FAILURES: readonly [sign: RegExp, meaning: string, remedy: string][] = [
  [
    /client certificate|remote error: tls: /,
    'the webhook refuses the API server, which shows no client certificate that it accepts',
    'fit --client-ca and --client-names to the certificate in the admission kubeconfig of the API server, or set neither',
  ],
  [
    /x509|tls: /,
    'the certificate of the webhook does not fit the caBundle or the name by which it is called',
    'compare the fingerprints that doctor prints',
  ],
  [
    /no endpoints available/,
    'no pod of the server is ready behind the Service',
    'see why its pods are not ready',
  ],
  [/service ".*" not found/, 'the Service is not there', 'install the chart'],
  [
    /connection refused/,
    'nothing listens where the webhook is called',
    'see that the server runs, and that targetPort of the Service is its --port',
  ],
  [
    /no such host|lookup /,
    'the API server cannot resolve the name of the webhook',
    'look at the URL in the webhook configurations, and at the DNS of the API server',
  ],
  [
    /no route to host|network is unreachable/,
    'the API server has no route to the webhook',
    'look at the pod network, and at network policies',
  ],
  [
    /No agent available|error dialing backend|proxy error/,
    'the tunnel from the control plane to the nodes is down',
    'look at its agents: kubectl -n kube-system get pods',
  ],
  [
    /deadline exceeded|timeout|timed out|Client\.Timeout/i,
    'the packets get lost on the way, or the server is too slow',
    'let the API server through to the port of the webhook: NetworkPolicies, the firewall of a private cluster (ports.webhook, hostNetwork in the chart)',
  ],
]

/** The proof: a dry run of an object with an annotation for which the webhook refuses it. */
export async function tryProbe(
  place: Place,
): Promise<{ readonly findings: Findings; readonly probe: Probe }> {
  const findings = new Findings()
  const { opened, group, namespace } = place
  const nonce = randomUUID()
  const object = `dry run in namespace ${namespace}`
  let answer: string | undefined
  try {
    answer = await opened.registrations.tryProbe(probeAnnotation(group), nonce)
  } catch (error) {
    findings.unread(object, error)
    return { findings, probe: { outcome: 'not known', answer: String(error) } }
  }
  if (answer?.includes(probeAnswer(nonce)))
    return {
      findings,
      probe: { outcome: 'reached', answer: 'the API server asked the webhook, and it answered' },
    }
  if (answer === undefined) {
    const remedy =
      'the webhook configuration is missing or Ignores failures, and then the API server tells only its log why: look there for "failed calling webhook", and at what is found above'
    findings.problem('not-reached', object, 'the API server stored it without asking the webhook', remedy)
    return { findings, probe: { outcome: 'not reached', answer: 'stored without asking' } }
  }
  if (/^403 .* is forbidden: User /.test(answer) || answer.startsWith('401 ')) {
    findings.unread(object, answer)
    return { findings, probe: { outcome: 'not known', answer } }
  }
  const [message, remedy] = meaningOf(answer, namespace)
  findings.problem('not-reached', object, `${message}: ${answer}`, remedy)
  return { findings, probe: { outcome: 'not reached', answer } }
}

function meaningOf(answer: string, namespace: string): [message: string, remedy: string] {
  if (answer.includes('failed calling webhook')) {
    const name = /failed calling webhook "([^"]*)"/.exec(answer)?.[1] ?? ''
    if (name.includes(WEBHOOK_NAME)) {
      const [, meaning, remedy] = FAILURES.find(([sign]) => sign.test(answer)) ?? []
      return [meaning ?? 'the call of the webhook fails', remedy ?? 'see the log of the server']
    }
    return [`another webhook, ${name}, is in the way`, 'mend or remove it']
  }
  if (/namespaces? ".*" not found/.test(answer))
    return [`there is no namespace ${namespace}`, 'name the namespace of the installation with --namespace']
  if (answer.startsWith('404 ')) return ['MCPExternalAuthConfig is not served', 'install the CRDs']
  return ['something else refused it before the webhook was asked', 'see whose words these are']
}
