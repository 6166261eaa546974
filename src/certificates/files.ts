import { createHash } from 'node:crypto'
import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { ServingPair } from './serving-pair.ts'
import { Problems } from './problems.ts'
import { readRegularFile } from './regular-file.ts'
import { judgePair, type PairJudgement } from './verify.ts'

export interface WatchFilesOptions {
  /** Receives each new, valid certificate with its key. */
  readonly onPair: (pair: ServingPair) => void
  /** Receives each problem with the files once, until the problem is solved. The previous certificate stays in use. */
  readonly onProblem: (problem: string) => void
  /** Receives problems of a certificate that do not prevent its use. */
  readonly onWarning?: (warning: string) => void
  readonly signal: AbortSignal
  /** DNS names and addresses for which the certificate should be valid. */
  readonly names?: readonly string[]
  /** Returns the time of the wall clock in Unix milliseconds. */
  readonly now?: () => number
  /** Milliseconds between two reads of the files when the file system reports no change. */
  readonly poll?: number
  /** Milliseconds for the writer to finish all files before a problem is reported. */
  readonly settle?: number
}

/** The status of the certificate files, for metrics; times are Unix milliseconds. */
export interface FilesStatus {
  readonly expiry: { readonly leaf: number | undefined }
  /** Number of certificates that were taken into use. */
  readonly pairs: number
  /** Number of checks of the files that found a problem. */
  readonly errors: number
  readonly problem: string | undefined
}

export interface WatchedFiles {
  /** Reads the files now; resolves when the certificate is in use or the problem is reported. */
  check(): Promise<void>
  status(): FilesStatus
}

const POLL = 10_000
const SETTLE = 1_000

/**
 * Watches `tls.crt`, `tls.key` and `ca.crt` in a folder that another program writes. Reads the files after each change
 * in the folder and every ten seconds, because file systems lose events; compares only the content of the files.
 */
export function watchFiles(folder: string, options: WatchFilesOptions): WatchedFiles {
  const watcher = new FileWatcher(folder, options)
  watcher.start()
  return watcher
}

interface Look {
  readonly content: string
  readonly pair?: ServingPair
  readonly judgement: PairJudgement
}

class FileWatcher implements WatchedFiles {
  readonly #folder: string
  readonly #options: WatchFilesOptions
  readonly #problems: Problems
  readonly #warnings: Problems
  #watcher: FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined
  #used: string | undefined
  #pairs = 0
  #expires: number | undefined
  #checking: Promise<void> | undefined
  #asked = 0

  constructor(folder: string, options: WatchFilesOptions) {
    this.#folder = folder
    this.#options = options
    this.#problems = new Problems(options.onProblem)
    this.#warnings = new Problems((warning) => options.onWarning?.(warning))
  }

  start(): void {
    const { signal } = this.#options
    signal.addEventListener('abort', () => this.#stop())
    void this.#loop()
  }

  status(): FilesStatus {
    return {
      expiry: { leaf: this.#expires },
      pairs: this.#pairs,
      errors: this.#problems.count,
      problem: this.#problems.present,
    }
  }

  /** Checks the files. If a check is running, queues another one, because the running one may have read older files. */
  check(): Promise<void> {
    this.#asked += 1
    this.#checking ??= this.#checkAll().finally(() => (this.#checking = undefined))
    return this.#checking
  }

  async #loop(): Promise<void> {
    if (this.#isStopped()) return
    this.#watch()
    await this.check()
    if (this.#isStopped()) this.#stop()
    else this.#timer = setTimeout(() => void this.#loop(), this.#options.poll ?? POLL)
  }

  #isStopped(): boolean {
    return this.#options.signal.aborted
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#unwatch()
  }

  #unwatch(): void {
    this.#watcher?.close()
    this.#watcher = undefined
  }

  /**
   * Watches the folder. When that fails (too many watches, or the folder does not exist yet), only the regular reads
   * notice changes.
   */
  #watch(): void {
    if (this.#watcher !== undefined) return
    try {
      this.#watcher = watch(this.#folder, () => void this.check())
      this.#watcher.on('error', () => this.#unwatch())
    } catch {
      this.#unwatch()
    }
  }

  async #checkAll(): Promise<void> {
    for (let done = 0; done < this.#asked && !this.#isStopped();) {
      done = this.#asked
      await this.#checkOnce().catch((error: unknown) => this.#problems.found([String(error)]))
    }
  }

  /** Reads the files; before it reports a problem, waits and reads them again, because they may be half written. */
  async #checkOnce(): Promise<void> {
    let look = await this.#look()
    const isNew = (problem: string | undefined) => problem !== undefined && problem !== this.#problems.present
    while (isNew(look.judgement.problem)) {
      const { content } = look
      await pause(this.#options.settle ?? SETTLE, this.#options.signal)
      if (this.#isStopped()) return
      look = await this.#look()
      if (look.content === content) break
    }
    this.#use(look)
  }

  #use({ content, pair, judgement }: Look): void {
    const { problem, warnings, expires } = judgement
    if (pair !== undefined && problem === undefined) {
      this.#expires = expires
      if (content !== this.#used) {
        this.#options.onPair(pair)
        this.#used = content
        this.#pairs += 1
      }
      this.#warnings.found(warnings)
    }
    this.#problems.found(problem === undefined ? [] : [problem])
  }

  async #look(): Promise<Look> {
    const { names = [], now = Date.now } = this.#options
    const read = await this.#readAtRest()
    if (typeof read === 'string')
      return { content: `problem ${read}`, judgement: { problem: read, warnings: [] } }
    const content = createHash('sha256')
      .update(JSON.stringify([read.certificate, read.key, read.ca]))
      .digest('hex')
    return { content, pair: read, judgement: judgePair(read, names, now()) }
  }

  /**
   * Reads the files until two reads are equal, because the kubelet may replace the files during a read, and a
   * certificate and a key from different versions may match.
   */
  async #readAtRest(): Promise<ServingPair | string> {
    let before = await this.#read()
    for (;;) {
      const again = await this.#read()
      if (isDeepStrictEqual(again, before) || this.#isStopped()) return again
      before = again
    }
  }

  async #read(): Promise<ServingPair | string> {
    const [certificate, key, ca] = await Promise.all(
      ['tls.crt', 'tls.key', 'ca.crt'].map((name) => read(this.#folder, name)),
    )
    for (const each of [certificate, key, ca]) if (each?.problem !== undefined) return each.problem
    if (certificate?.text === undefined) return 'tls.crt is missing'
    if (key?.text === undefined) return 'tls.key is missing'
    const pair = { certificate: certificate.text, key: key.text }
    return ca?.text === undefined ? pair : { ...pair, ca: ca.text }
  }
}

async function read(
  folder: string,
  name: string,
): Promise<{ readonly text?: string; readonly problem?: string }> {
  try {
    const text = await readRegularFile(join(folder, name))
    return text === undefined ? {} : { text }
  } catch (error) {
    return { problem: `${name} ${(error as Error).message}` }
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
  })
}
