import { createInterface } from 'node:readline/promises'
import { UsageError } from '../../../configuration/flags.ts'
import { isLocal, type Target } from '../../../probe/index.ts'
import { pathText } from '../../../rule/index.ts'
import { visible } from '../../output/visible.ts'

/**
 * Decides whether requests may be sent to a host: always to a host on this machine, to other hosts with --yes or after
 * the user agrees.
 */
export class Consent {
  readonly #isGiven: boolean
  #question: Promise<unknown> = Promise.resolve()

  constructor(isGiven: boolean) {
    this.#isGiven = isGiven
  }

  /** Asks the user about the hosts that resources name. Throws UsageError when there is no terminal to ask on. */
  async forTargets(targets: readonly Target[]): Promise<boolean> {
    const others = targets.filter(({ url }) => !isLocal(new URL(url)))
    if (this.#isGiven || others.length === 0) return true
    const hosts = new Map(others.map((target) => [new URL(target.url).host, target]))
    if (!isTerminal())
      throw new UsageError(
        `nothing was asked: --yes allows requests to ${[...hosts.keys()].join(', ')}, and --list prints the addresses`,
      )
    const lines = [...hosts].map(([host, target]) => `  ${host}  (${placeText(target)})`)
    return this.#ask(['This sends GET and HEAD requests without credentials to', ...lines, 'Send them?'])
  }

  /** Asks the user about a host that no resource names, only the answer to a request. */
  forHost(host: string): Promise<boolean> {
    if (this.#isGiven) return Promise.resolve(true)
    return isTerminal() ? this.#ask([`An answer names ${host}. Ask it too?`]) : Promise.resolve(false)
  }

  /** Asks one question at a time. */
  #ask(lines: readonly string[]): Promise<boolean> {
    const answered = this.#question.then(async () => {
      const { stdin: input, stderr: output } = process
      const terminal = createInterface({ input, output })
      const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')))
      const answer = await Promise.race([
        terminal.question(`${lines.map(visible).join('\n')} [y/N] `),
        closed,
      ])
      terminal.close()
      return /^\s*y(?:es)?\s*$/i.test(answer)
    })
    this.#question = answered
    return answered
  }
}

const isTerminal = (): boolean => process.stdin.isTTY && process.stderr.isTTY

export const placeText = ({ subject, at }: Pick<Target, 'subject' | 'at'>): string =>
  `${pathText(at)} of ${subject.kind} ${subject.namespace}/${subject.name}`
