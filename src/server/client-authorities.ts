import type { Logger } from 'pino'
import { clientTlsOptions, problemWithClientAuthorities } from '../certificates/clients.ts'
import { readRegularFile } from '../certificates/regular-file.ts'
import { UsageError } from '../configuration/flags.ts'
import { errorMessage } from '../rule/index.ts'
import { keepChecking } from './configuration-file.ts'

/**
 * The CAs of client certificates in the file of `--client-ca`. The file is read regularly; one that cannot be used
 * changes nothing.
 */
export class ClientAuthorities {
  readonly #file: string
  readonly #logger: Pick<Logger, 'info' | 'error'>
  #ca = ''
  #problem: string | undefined
  #changedAt = -Infinity

  private constructor(file: string, logger: Pick<Logger, 'info' | 'error'>) {
    this.#file = file
    this.#logger = logger
  }

  /** Undefined when no file is given. Throws UsageError when the file cannot be used. */
  static async open(
    file: string,
    logger: Pick<Logger, 'info' | 'error'>,
  ): Promise<ClientAuthorities | undefined> {
    if (file === '') return undefined
    const authorities = new ClientAuthorities(file, logger)
    await authorities.#read()
    return authorities
  }

  /** The TLS options of a server that accepts client certificates of the CAs. */
  get tls(): ReturnType<typeof clientTlsOptions> {
    return clientTlsOptions({ ca: this.#ca, subjects: [] })
  }

  /** When the CAs changed last, by `performance.now()`; before the first change, -Infinity. */
  get changedAt(): number {
    return this.#changedAt
  }

  /** Keeps reading the file until the signal aborts; calls `onChange` when the CAs have changed. Never rejects. */
  keepReading(signal: AbortSignal, onChange: () => void): Promise<void> {
    return keepChecking(() => this.check(), signal, onChange)
  }

  /** Reads the file; true when the CAs have changed. Never rejects. */
  async check(): Promise<boolean> {
    try {
      const isOther = await this.#read()
      this.#problem = undefined
      if (isOther) {
        this.#changedAt = performance.now()
        this.#logger.info({ file: this.#file }, 'client certificates: other CAs are in use')
      }
      return isOther
    } catch (error) {
      const problem = errorMessage(error)
      if (problem !== this.#problem)
        this.#logger.error({ problem }, 'client certificates: the CAs in use stay')
      this.#problem = problem
      return false
    }
  }

  /** Reads the file, and returns true if its content has changed. Throws UsageError when it cannot be used. */
  async #read(): Promise<boolean> {
    const file = this.#file
    const ca = await readRegularFile(file).catch((error: unknown) => {
      throw new UsageError(`--client-ca: ${file} ${errorMessage(error)}`)
    })
    if (ca === undefined) throw new UsageError(`--client-ca: ${file} does not exist`)
    const problem = problemWithClientAuthorities(ca)
    if (problem !== undefined) throw new UsageError(`--client-ca: ${file}: ${problem}`)
    if (ca === this.#ca) return false
    this.#ca = ca
    return true
  }
}
