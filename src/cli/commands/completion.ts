import { type Flag, UsageError } from '../../configuration/flags.ts'
import { KINDS } from '../../kinds/index.ts'
import { ALL_IDS } from '../../review/engine-ids.ts'
import { type Completable, completionScript, type Shell, SHELLS } from '../output/completion.ts'
import { EXIT } from '../output/report.ts'

const PROGRAM = 'vmcp-admission'

/** A command, as far as a shell completes it. */
interface Named {
  readonly ways: readonly (readonly [args: string, does: string])[]
  readonly flags: object
}

/** Prints the completion for a shell; returns the exit code. Throws UsageError. */
export function completion(args: readonly string[], commands: ReadonlyMap<string, Named>): number {
  const [shell, ...more] = args
  if (!isShell(shell) || more.length > 0) throw new UsageError(`name one shell: ${SHELLS.join(', ')}`)
  const all = Array.from(commands, ([name, command]) => completableOf(name, command))
  process.stdout.write(completionScript(shell, PROGRAM, all))
  return EXIT.clean
}

const isShell = (text: string | undefined): text is Shell => SHELLS.some((shell) => shell === text)

const WORDS: Readonly<Record<string, readonly string[]>> = {
  explain: [...KINDS.map(({ kind }) => kind), ...[...ALL_IDS].toSorted()],
  completion: SHELLS,
}

function completableOf(name: string, { ways: [way], flags }: Named): Completable {
  return {
    name,
    summary: way?.[1] ?? '',
    words: WORDS[name] ?? [],
    flags: Object.entries(flags as Record<string, Flag<unknown>>).map(([flag, { help, argument }]) => ({
      name: flag,
      help,
      takesValue: argument !== undefined,
      values: argument !== undefined && /^[\w.-]+(?:\|[\w.-]+)+$/.test(argument) ? argument.split('|') : [],
    })),
  }
}
