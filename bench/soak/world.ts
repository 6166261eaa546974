import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync, truncateSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import type { ApiServer } from '../../test/e2e/api-server.ts'
import type { Excuse, Stream } from '../../test/e2e/stream.ts'
import { waitFor } from '../../test/e2e/wait-for.ts'
import type { WatchProxy } from '../../test/e2e/watch-proxy.ts'
import type { Server } from '../servers.ts'

const [SECOND, MINUTE] = [1_000, 60_000]
/** Seconds within which the server is well again after a phase. */
const RECOVERY = 30

/** The server, and what is around it. */
interface Parts {
  readonly seed: number
  readonly api: ApiServer
  readonly proxy: WatchProxy
  readonly server: Server
  readonly stream: Stream
  readonly callers: ChildProcess
  /** The file of the milliseconds by which the server's clock is ahead. */
  readonly clock: string
  readonly log: string
  /** The folder of the log, and its bytes; undefined where it has no disk of its own. */
  readonly disk: { readonly folder: string; readonly bytes: number } | undefined
}

/** Megabytes of resident memory, in all and without pages of files. */
export interface Memory {
  readonly resident: number
  readonly own: number
}

export interface Sample extends Memory {
  readonly at: number
  /** Megabytes of the heap of JavaScript, with garbage; NaN where the metrics were not read. */
  readonly heap: number
  readonly phase: string
}

export const memoryOf = ({ memory }: Server): Memory => ({
  resident: memory('VmRSS'),
  own: memory('RssAnon'),
})

/** What is seen of the server. */
export class World {
  readonly parts: Parts
  readonly samples: Sample[] = []
  /** When each certificate that was seen expires. */
  readonly leaves = new Set<number>()
  readonly logged = new Map<string, number>()
  /** Milliseconds of the slowest review by the log: from the last byte of its body to the answer. By phase. */
  readonly slowest = new Map<string, number>()
  /** Connections of bad clients, by phase. */
  readonly connections = new Map<string, number>()
  /** What does not hold. */
  readonly broken: string[] = []
  /** What a phase did not do that it is for. */
  readonly missed: string[] = []
  /** The highest load average of a minute, of each core. */
  load = 0
  readonly #begun = performance.now()
  #phase = ''

  constructor(parts: Parts) {
    this.parts = parts
  }

  enter(phase: string, excuse?: Excuse): void {
    this.#phase = phase
    const minutes = (performance.now() - this.#begun) / MINUTE
    const { own } = memoryOf(this.parts.server)
    process.stderr.write(`${minutes.toFixed(1)} min, ${own.toFixed(0)} MB: ${phase}\n`)
    this.parts.stream.enter(phase, excuse)
    this.parts.callers.send(phase)
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.parts.server.probeUrl}/metrics`)).text()
  }

  /** The sum of a metric over all labels. */
  async metric(name: string): Promise<number> {
    const lines = (await this.metrics()).split('\n')
    const samples = lines.filter((line) => /^\w+/.exec(line)?.[0] === name)
    return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
  }

  files(): number {
    return readdirSync(`/proc/${this.parts.server.pid}/fd`).length
  }

  /** Every second, until the signal aborts: memory, the certificate in use, and the log. */
  async watch(signal: AbortSignal): Promise<void> {
    const { server } = this.parts
    while (!signal.aborted && server.isRunning()) {
      this.load = Math.max(this.load, (loadavg()[0] ?? 0) / availableParallelism())
      const text = await this.metrics().catch(() => '')
      const heap = Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]) / 2 ** 20
      this.samples.push({ at: performance.now(), phase: this.#phase, heap, ...memoryOf(server) })
      const expiry = /certificate_expiry_timestamp_seconds\{certificate="leaf"\} (\S+)/.exec(text)?.[1]
      if (expiry !== undefined) this.leaves.add(Number(expiry))
      // What is taken from a disk that is full makes room on it.
      if (this.#phase !== 'disk full') this.#readLog()
      await setTimeout(SECOND, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Notes what the log says of problems and of slow reviews, and empties it. */
  #readLog(): void {
    const text = readFileSync(this.parts.log, 'utf8')
    truncateSync(this.parts.log)
    for (const [, level = '', message = ''] of text.matchAll(
      /"level":"(warn|error|fatal)".*"msg":"([^"]*)"/g,
    ))
      this.logged.set(`${level}: ${message}`, (this.logged.get(`${level}: ${message}`) ?? 0) + 1)
    const slowest = Array.from(text.matchAll(/"ms":([\d.]+)/g), ([, ms]) => Number(ms)).reduce(
      (most, each) => Math.max(most, each),
      this.slowest.get(this.#phase) ?? 0,
    )
    this.slowest.set(this.#phase, slowest)
  }

  /** Waits until something holds again after a phase; notes that it does not. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    await waitFor(holds, { seconds: RECOVERY, what }).catch((error: unknown) =>
      this.broken.push(`${this.#phase}: ${error instanceof Error ? error.message : ''}`),
    )
  }

  /** Until the server says that it is ready, and the webhook is armed. */
  recovers(): Promise<void> {
    const { server } = this.parts
    return this.until('the server to be ready', async () => {
      return (await server.isReady()) && (await this.metric('vmcp_admission_armed')) === 1
    })
  }
}
