import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { readRegularFile } from '../certificates/regular-file.ts'
import { type Configuration, holdsAt, NO_CONFIGURATION } from '../configuration/file.ts'
import { UsageError } from '../configuration/flags.ts'
import { chosenSettings } from '../configuration/judging.ts'
import { releaseOfFile } from '../configuration/known-releases.ts'
import type { Settings } from '../engine/index.ts'
import type { Release } from '../release/index.ts'
import { errorMessage } from '../rule/index.ts'
import type { ServerConfiguration } from './configuration.ts'

/** Milliseconds between two reads of a file; kubelets update a ConfigMap in a pod within about a minute. */
const EVERY = 10_000

/** The state of the configuration file, for metrics. */
export interface ConfigurationFileState {
  /** Whether the file was valid when it was last read. */
  readonly isRight: boolean
  /** Unix milliseconds at which the current configuration was read. */
  readonly since: number
  readonly exemptions: { readonly active: number; readonly expired: number }
}

type Flags = Pick<ServerConfiguration, 'config-file' | 'profile' | 'severity' | 'mode'>

/**
 * The settings of the flags and of the file in `--config-file`. The file is read regularly; an invalid file changes
 * nothing.
 */
export class ConfigurationFile {
  readonly #flags: Flags
  readonly #logger: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly #now: () => number
  #text: string | undefined
  #configuration: Configuration = NO_CONFIGURATION
  #settings: Settings
  #release: Release | undefined
  #since = 0
  #problem: string | undefined

  /** `now` returns the time of the wall clock in Unix milliseconds. */
  constructor(flags: Flags, logger: Pick<Logger, 'info' | 'warn' | 'error'>, now: () => number = Date.now) {
    this.#flags = flags
    this.#logger = logger
    this.#now = now
    this.#settings = this.#choose()
  }

  get settings(): Settings {
    return this.#settings
  }

  /** The operator release that the file names; an installed release in the cluster takes precedence. */
  get release(): Release | undefined {
    return this.#release
  }

  state(): ConfigurationFileState {
    const { exemptions } = this.#configuration
    const active = exemptions.filter((each) => holdsAt(each, this.#now())).length
    return {
      isRight: this.#problem === undefined,
      since: this.#since,
      exemptions: { active, expired: exemptions.length - active },
    }
  }

  /**
   * Reads the file for the first time. Throws UsageError, so that a rollout with an invalid file stops at its first
   * replica.
   */
  async open(): Promise<void> {
    await this.#read()
  }

  /** Keeps reading the file until the signal aborts; calls `onChange` when the settings have changed. Never rejects. */
  async keepReading(signal: AbortSignal, onChange: () => void): Promise<void> {
    await keepChecking(() => this.check(), signal, onChange)
  }

  /** Reads the file; true when the settings have changed, also because an exemption has expired. Never rejects. */
  async check(): Promise<boolean> {
    try {
      const isOther = await this.#read()
      this.#problem = undefined
      if (isOther) return true
    } catch (error) {
      const problem = errorMessage(error)
      if (problem !== this.#problem)
        this.#logger.error({ problem }, 'the configuration file is wrong: what was read before stays in use')
      this.#problem = problem
    }
    return this.#expire()
  }

  /** Reads the file, and returns true if its content has changed. Throws UsageError when the content is invalid. */
  async #read(): Promise<boolean> {
    const file = this.#flags['config-file']
    const text = await readRegularFile(file).catch((error: unknown) => {
      throw new UsageError(`${file}: ${errorMessage(error)}`)
    })
    if (text === undefined) throw new UsageError(`${file}: does not exist`)
    if (text === this.#text) return false
    // Imported on demand, so that servers without a configuration file never load the parser.
    const { readConfiguration } = await import('../configuration/read-file.ts')
    const configuration = readConfiguration(file, text)
    this.#release = releaseOfFile(configuration)
    this.#configuration = configuration
    this.#text = text
    this.#since = this.#now()
    this.#settings = this.#choose()
    const { severities, exemptions } = this.#configuration
    const counts = { severities: severities.length, exemptions: exemptions.length }
    this.#logger.info({ file, ...counts }, 'the configuration file is in use')
    this.#tellExpired()
    return true
  }

  /** Drops exemptions that have expired since the last read; returns whether there were such exemptions. */
  #expire(): boolean {
    const settings = this.#choose()
    if (settings.exemptions.length === this.#settings.exemptions.length) return false
    this.#settings = settings
    this.#tellExpired()
    return true
  }

  #tellExpired(): void {
    const expired = this.#configuration.exemptions.filter((each) => !holdsAt(each, this.#now()))
    for (const { id, line, expires } of expired)
      this.#logger.warn({ id, line, expires }, 'an exemption of the configuration file has expired')
  }

  #choose(): Settings {
    const chosen = chosenSettings(this.#flags, this.#configuration, this.#now())
    return { ...chosen, mode: this.#flags.mode }
  }
}

/** Checks a file regularly until the signal aborts; calls `onChange` when `check` answers that it has changed. */
export async function keepChecking(
  check: () => Promise<boolean>,
  signal: AbortSignal,
  onChange: () => void,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(EVERY, undefined, { signal, ref: false }).catch(() => undefined)
    if (await check()) onChange()
  }
}
