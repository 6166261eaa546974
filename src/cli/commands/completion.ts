import { type Flag, UsageError } from '../../configuration/flags.ts'
import { type Command, defineCommand } from '../define-command.ts'
import { type Completable, completionScript, type Shell, SHELLS } from '../output/completion.ts'
import { EXIT } from '../output/report.ts'

const PROGRAM = 'vmcp-admission'

/** The command `completion`, which prints a script with which a shell completes the commands of this program. */
export const completionOf = (commands: () => Iterable<Command>): Command =>
  defineCommand({
    name: 'completion',
    summary: 'print what completes commands, flags and ids in a shell',
    arguments: [['bash|zsh|fish']],
    words: SHELLS,
    flags: {},
    examples: ['bash'],
    exitCodes: { 0: 'done' },
    run: ({ names: [shell, ...more] }) => {
      if (!isShell(shell) || more.length > 0) throw new UsageError(`name one shell: ${SHELLS.join(', ')}`)
      process.stdout.write(completionScript(shell, PROGRAM, Array.from(commands(), completableOf)))
      return EXIT.clean
    },
  })

const isShell = (text: string | undefined): text is Shell => SHELLS.some((shell) => shell === text)

const completableOf = ({ name, summary, words = [], flags }: Command): Completable => ({
  name,
  summary,
  words,
  flags: Object.entries(flags as Record<string, Flag<unknown>>).map(([flag, { help, argument }]) => ({
    name: flag,
    help,
    takesValue: argument !== undefined,
    values: argument !== undefined && /^[\w.-]+(?:\|[\w.-]+)+$/.test(argument) ? argument.split('|') : [],
  })),
})
