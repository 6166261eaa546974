import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type ClusterConnection, StatusError } from '../cluster/index.ts'
import { KINDS } from '../kinds/index.ts'
import { type Release, releaseOf } from '../release/index.ts'
import { errorMessage, metadataOf } from '../rule/index.ts'

/** Milliseconds between two reads of the CRDs: an upgrade of the operator takes effect within a minute. */
const EVERY = 30_000

/** The operator release to which the CRDs in the cluster belong (decision 3), read again every 30 s. */
export class InstalledRelease {
  readonly #connection: Pick<ClusterConnection, 'installation'>
  readonly #group: string
  readonly #logger: Pick<Logger, 'info' | 'warn'>
  #release: Release | undefined
  #versions = ''
  #problem: string | undefined
  #isRead = false

  constructor(
    connection: Pick<ClusterConnection, 'installation'>,
    group: string,
    logger: Pick<Logger, 'info' | 'warn'>,
  ) {
    this.#connection = connection
    this.#group = group
    this.#logger = logger
  }

  /**
   * The operator release by the last successful read of the CRDs; undefined when the CRDs are missing, are those of
   * this project, or could not be read so far.
   */
  current(): Release | undefined {
    return this.#release
  }

  /** Whether the first read has completed: with CRDs, or with a refusal because the server lacks the permission. */
  isRead(): boolean {
    return this.#isRead
  }

  /** Keeps reading the CRDs until the signal aborts; calls `onChange` when the release has changed. Never rejects. */
  async keepReading(signal: AbortSignal, onChange: () => void): Promise<void> {
    while (!signal.aborted) {
      await this.#read(onChange)
      await sleep(this.#isRead ? EVERY : 1_000, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #read(onChange: () => void): Promise<void> {
    try {
      const installation = this.#connection.installation('')
      const definitions = await Promise.all(KINDS.map(({ plural }) => installation.readDefinition(plural)))
      const versions = definitions.map((each) => String(metadataOf(each).resourceVersion)).join()
      this.#problem = undefined
      if (versions !== this.#versions) {
        this.#versions = versions
        this.#release = releaseOf(definitions, this.#group, 'the installed operator')
        const kinds = [...(this.#release?.schemas.keys() ?? [])]
        this.#logger.info({ kinds }, 'read the CRDs of the operator')
        onChange()
      }
      this.#isRead = true
    } catch (error) {
      // A busy API server (429, 5xx) is asked again after a second. The last release that was read stays in use.
      this.#isRead ||= error instanceof StatusError && error.status < 500 && error.status !== 429
      const problem = errorMessage(error)
      if (problem !== this.#problem)
        this.#logger.warn(
          { problem },
          'cannot read the CRDs of the operator: judging by the last ones read, if any',
        )
      this.#problem = problem
    }
  }
}
