import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
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

/** Options for judging an object. */
export interface Asked extends Omit<Question, 'candidate'> {
  /** Milliseconds of CPU after which the process is killed; the wall-clock limit is ten times as long. */
  readonly limitMs?: number
}

/** The heap size in megabytes that the container image gives the server. */
const HEAP = 256

/**
 * A process with the server's heap size that judges one object after the other, so that memory left by earlier ones
 * counts too. It is started again after an object that crashes it, or for which it is killed.
 */
export class Judging {
  #child: ChildProcess | undefined
  #talk = ''

  async judge(candidate: Candidate, { limitMs = 10_000, ...how }: Asked = {}): Promise<Result> {
    const { result } = await this.#ask({ candidate, ...how }, limitMs)
    return result
  }

  /** Profiles judging an object; undefined when it does not end within the limit. */
  async profile(candidate: Candidate, limitMs = 30_000): Promise<Profile | undefined> {
    return (await this.#ask({ candidate, profile: true }, limitMs)).profile
  }

  async end(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child?.exitCode !== null || child.signalCode !== null) return
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
      execArgv: [`--max-old-space-size=${HEAP}`, '--max-semi-space-size=16'],
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

/** The answer of the process, or how the process ended without one. */
function answerOf(
  child: ChildProcess,
  question: Question,
  limitMs: number,
): Promise<Answer | 'late' | 'gone'> {
  return new Promise((resolve) => {
    const settle = (answer: Answer | 'late' | 'gone') => {
      clearInterval(timer)
      child.off('message', answered).off('close', gone)
      resolve(answer)
    }
    const answered = (answer: unknown) => settle(answer as Answer)
    const gone = () => settle('gone')
    const begun = performance.now()
    const cpuBegun = cpuMsOf(child.pid)
    const timer = setInterval(() => {
      const passed = performance.now() - begun
      const cpuMs = (cpuMsOf(child.pid) ?? passed) - (cpuBegun ?? 0)
      if (cpuMs > limitMs || passed > 10 * limitMs) settle('late')
    }, 250)
    child.on('message', answered).on('close', gone)
    child.send(question, (error) => {
      if (error) settle('gone')
    })
  })
}

/** Milliseconds of CPU used by a process (proc(5), stat); undefined when unknown. */
export function cpuMsOf(pid: number | undefined): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK
  } catch {
    return undefined
  }
}

/** Linux reports CPU time in hundredths of a second, independent of its timer frequency (USER_HZ). */
const MS_PER_TICK = 10

/** The line on stderr in which Node or V8 says why the process ended. */
export const reasonIn = (talk: string): string =>
  /^.*(?:FATAL ERROR|RangeError|Error:).*$/m.exec(talk)?.[0].slice(0, 200) ?? talk.slice(-200)
