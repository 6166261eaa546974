import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { COMPILE_CACHE } from '../compile-cache.ts'
import type { Candidate, Result } from './candidate.ts'
import type { Answer, Profile, Question } from './judge.ts'

const JUDGE = fileURLToPath(new URL('judge.ts', import.meta.url))
const EXAMPLE = {
  apiVersion: 'toolhive.stacklok.dev/v1beta1',
  kind: 'MCPGroup',
  metadata: { name: 'warm', namespace: 'default' },
  spec: {},
}

/** How a candidate is judged. */
export interface Asked extends Omit<Question, 'candidate'> {
  /** Milliseconds after which the process is killed. */
  readonly limitMs?: number
}

/** Megabytes of the heap: what the image gives the server. */
const HEAP = 256

/**
 * A process with the heap of the server that judges candidates, one after the other, so that each comes at the end of a
 * chain of others. After a candidate that ends it, or is killed, the next one has a new process.
 */
export class Judging {
  #child: ChildProcess | undefined
  #talk = ''

  async judge(candidate: Candidate, { limitMs = 10_000, ...how }: Asked = {}): Promise<Result> {
    const { result } = await this.#ask({ candidate, ...how }, limitMs)
    return result
  }

  /** Where the time goes; undefined where it does not end within the limit. */
  async profile(candidate: Candidate, limitMs = 30_000): Promise<Profile | undefined> {
    return (await this.#ask({ candidate, profile: true }, limitMs)).profile
  }

  async end(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  async #ask(question: Question, limitMs: number): Promise<{ result: Result; profile?: Profile }> {
    const child = (this.#child ??= await this.#start())
    const answer = await answerOf(child, question, limitMs)
    if (typeof answer === 'object')
      return {
        result: { ended: 'answered', ...answer.cost },
        ...(answer.profile && { profile: answer.profile }),
      }
    await this.end()
    return answer === 'late'
      ? { result: { ended: 'killed', afterMs: limitMs } }
      : { result: { ended: 'crashed', how: reasonIn(this.#talk) } }
  }

  async #start(): Promise<ChildProcess> {
    const child = fork(JUDGE, [], {
      execArgv: [`--max-old-space-size=${HEAP}`, '--max-semi-space-size=4'],
      env: { ...process.env, ...COMPILE_CACHE },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#talk = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#talk += text))
    const warm = await answerOf(child, { candidate: { object: EXAMPLE, others: [] } }, 60_000)
    if (typeof warm !== 'object') throw new Error(`the process that judges did not start: ${this.#talk}`)
    return child
  }
}

/** The answer of the process, or how it came to none. */
function answerOf(child: ChildProcess, question: Question, limitMs: number): Promise<Answer | 'late' | 'gone'> {
  return new Promise((resolve) => {
    const settle = (answer: Answer | 'late' | 'gone') => {
      clearTimeout(timer)
      child.off('message', answered).off('close', gone)
      resolve(answer)
    }
    const answered = (answer: unknown) => settle(answer as Answer)
    const gone = () => settle('gone')
    const timer = setTimeout(() => settle('late'), limitMs)
    child.on('message', answered).on('close', gone)
    child.send(question, (error) => {
      if (error) settle('gone')
    })
  })
}

/** The line of Node or V8 that says why a process ended. */
const reasonIn = (talk: string): string =>
  /^.*(?:FATAL ERROR|RangeError|Error:).*$/m.exec(talk)?.[0].slice(0, 200) ?? talk.slice(-200)
