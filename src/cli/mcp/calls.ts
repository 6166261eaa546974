import { text } from 'node:stream/consumers'
import { startWorker } from '../program-files.ts'
import type { CallResult, ToolCall } from './answer.ts'
import { BOUNDS } from './bounds.ts'

/** The result of an MCP tool call, and its output on standard output and standard error. */
export interface Called extends CallResult {
  readonly stdout: string
  readonly stderr: string
}

type CallBounds = Pick<Record<keyof typeof BOUNDS, number>, 'waiting' | 'seconds' | 'megabytes'>

/** Runs MCP tool calls one after the other, each in a worker thread that can be stopped and shares nothing. */
export class Calls {
  readonly #bounds: CallBounds
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(bounds: CallBounds = BOUNDS) {
    this.#bounds = bounds
  }

  /**
   * Runs a tool call with `manifests` as its standard input. Throws an Error when too many calls wait, or when the call
   * takes too much time or memory, or is aborted.
   */
  async run(call: ToolCall, manifests: string, signal: AbortSignal): Promise<Called> {
    const { waiting } = this.#bounds
    if (this.#waiting > waiting)
      throw new Error(`${waiting} calls are waiting: call again when one of them is answered`)
    this.#waiting += 1
    const called = this.#last.then(() => start(call, manifests, signal, this.#bounds))
    this.#last = called.catch(() => undefined)
    try {
      return await called
    } finally {
      this.#waiting -= 1
    }
  }
}

async function start(
  call: ToolCall,
  manifests: string,
  signal: AbortSignal,
  { seconds, megabytes }: CallBounds,
): Promise<Called> {
  signal.throwIfAborted()
  const worker = startWorker('call.js', {
    workerData: call,
    stdin: true,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: megabytes },
  })
  worker.stdin?.end(manifests)
  const printed = Promise.all([text(worker.stdout), text(worker.stderr)])
  const end = () => void worker.terminate()
  signal.addEventListener('abort', end)
  const timer = setTimeout(end, seconds * 1_000)
  try {
    const given = await new Promise<CallResult>((resolve, reject) => {
      let answer: CallResult | undefined
      worker.on('message', (message: CallResult) => {
        answer = message
      })
      worker.on('error', reject)
      worker.on('exit', () => {
        if (answer === undefined) reject(new Error(`ended after ${seconds} seconds: ${NARROWER}`))
        else resolve(answer)
      })
    })
    const [stdout, stderr] = await printed
    return { ...given, stdout, stderr }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error
    throw new Error(`it takes more than ${megabytes} MB of memory: ${NARROWER}`, { cause: error })
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

const NARROWER = 'name fewer files'
