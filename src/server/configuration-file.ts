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

/** Milliseconds between two reads; kubelets bring a changed ConfigMap into a pod within a minute or so. */
const EVERY = 10_000

/** For metrics. */
export interface ConfigurationFileState {
  /** Whether the last read found a file without mistakes. */
  readonly isRight: boolean
  /** When the configuration in use was read, in milliseconds of Unix time. */
  readonly since: number
  readonly exemptions: { readonly active: number; readonly expired: number }
}

type Flags = Pick<ServerConfiguration, 'config-file' | 'profile' | 'severity' | 'mode'>

/** The settings of the flags and of the file that `--config-file` names, which is read again: a wrong one changes nothing. */
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

  /** `now` is the wall clock. */
  constructor(flags: Flags, logger: Pick<Logger, 'info' | 'warn' | 'error'>, now: () => number = Date.now) {
    this.#flags = flags
    this.#logger = logger
    this.#now = now
    this.#settings = this.#choose()
  }

  get settings(): Settings {
    return this.#settings
  }

  /** The release that the file names; that of the cluster goes before it. */
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

  /** Reads the file for the first time. Throws UsageError: a new replica does not replace one whose configuration is right. */
  async open(): Promise<void> {
    await this.#read()
  }

  /** Reads until the signal aborts; calls `onChange` when other settings count. Never rejects. */
  async keepReading(signal: AbortSignal, onChange: () => void): Promise<void> {
    while (!signal.aborted) {
      await sleep(EVERY, undefined, { signal, ref: false }).catch(() => undefined)
      if (await this.check()) onChange()
    }
  }

  /** Reads the file; whether other settings count than before. */
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

  /** Whether the file has another content. Throws UsageError where it is wrong. */
  async #read(): Promise<boolean> {
    const file = this.#flags['config-file']
    const text = await readRegularFile(file).catch((error: unknown) => {
      throw new UsageError(`${file}: ${errorMessage(error)}`)
    })
    if (text === undefined) throw new UsageError(`${file}: does not exist`)
    if (text === this.#text) return false
    // Servers without a file do without the parser.
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

  /** Leaves out the exemptions that have expired since; whether there are any. */
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
