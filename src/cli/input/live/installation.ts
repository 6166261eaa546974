import {
  ClusterConnection,
  type Installation,
  type Registrations,
  StatusError,
} from '../../../cluster/index.ts'
import type { Environment } from '../../../configuration/flags.ts'
import { accessTo, ANSWER_TIMEOUT_MS, type ClusterChoice, serverUrl } from './access.ts'

/** Access to an installation of the webhook: to the objects of its chart, and to those that its server writes. */
export interface Opened {
  /** URL of the API server. */
  readonly server: string
  readonly installation: Installation
  readonly registrations: Registrations
  /** Milliseconds by which this machine's clock is ahead of the API server's; undefined before that server answered. */
  clockOffset(): number | undefined
  close(): void
}

/** Opens access to an installation; sends no request yet. Throws an Error of one line when no cluster is found. */
export async function openInstallation(
  { kubeconfig, group }: ClusterChoice,
  namespace: string,
  environment: Environment,
): Promise<Opened> {
  const access = await accessTo(kubeconfig, environment)
  const connection = new ClusterConnection(access, {
    group,
    times: { answer: ANSWER_TIMEOUT_MS, idle: ANSWER_TIMEOUT_MS },
  })
  return {
    server: serverUrl(connection),
    installation: connection.installation(namespace),
    registrations: connection.registrations(namespace),
    clockOffset: () => connection.clockOffset(),
    close: () => connection.close(),
  }
}

/** Whether the API server refused the request; any other error means that the API server did not answer. */
export const isRefusal = (error: unknown): error is StatusError => error instanceof StatusError
