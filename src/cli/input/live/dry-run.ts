import { type Answer, ClusterConnection } from '../../../cluster/index.ts'
import type { Kind } from '../../../kinds/kind.ts'
import { errorMessage } from '../../../rule/index.ts'
import type { Environment } from '../../../configuration/flags.ts'
import { accessTo, ANSWER_TIMEOUT_MS, type ClusterChoice } from './access.ts'
import { forEachConcurrently, retryRefused } from './requests.ts'

/** A write for a dry run. */
export interface Attempt {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  readonly object: object
  /** The resourceVersion of the stored resource; undefined when it is not stored. */
  readonly resourceVersion: string | undefined
}

/** The API server's answer to a dry run of each write, or an error message when there is no answer. Never throws. */
export async function tryWrites<T extends Attempt>(
  attempts: readonly T[],
  { kubeconfig, group }: ClusterChoice,
  environment: Environment,
): Promise<ReadonlyMap<T, Answer | string>> {
  const answers = new Map<T, Answer | string>()
  const access = await accessTo(kubeconfig, environment).catch(errorMessage)
  // The problem with the kubeconfig was already reported when the cluster was read.
  if (typeof access === 'string') return answers
  const times = { answer: ANSWER_TIMEOUT_MS, idle: ANSWER_TIMEOUT_MS }
  const connection = new ClusterConnection(access, { group, times })
  const { signal } = new AbortController()
  try {
    await forEachConcurrently(attempts, async (attempt) => {
      const { kind, resourceVersion } = attempt
      const answer = retryRefused(() => connection.tryWrite(kind, attempt, resourceVersion, signal))
      answers.set(attempt, await answer.catch(errorMessage))
    })
  } finally {
    connection.close()
  }
  return answers
}
