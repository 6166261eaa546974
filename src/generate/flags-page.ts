import { COMMANDS } from '../cli/commands.ts'
import { type FlagText, flagTexts } from '../configuration/flags.ts'
import { SERVER_FLAGS } from '../server/configuration.ts'
import type { GeneratedFile } from './generated-file.ts'
import { code, GENERATED, page, table } from './markdown.ts'

const INTRODUCTION = `Each flag has an environment variable of the same meaning; a flag that is given wins. A wrong value ends the process with
one line and exit code 2. \`--help\` prints the same.`

const SERVER = `Given to \`npm start --\` in a clone and as arguments of the container; the chart sets them from
[its values](../deploy/helm/vmcp-admission/README.md). [server.md](server.md) explains them by task.`

const COMMAND = `Given behind the name of the command. [Check files](check.md), [with a cluster](cluster.md) and [the index](README.md) lead to the page of each.`

/** docs/flags.md: the flags of the server and of the commands. */
export function flagsPage(): GeneratedFile {
  const text = page([
    GENERATED,
    '# Flags',
    INTRODUCTION,
    '## The server',
    SERVER,
    table(
      ['Flag', 'Default', 'What it does', 'Variable'],
      flagTexts(SERVER_FLAGS).map((flag) => [usage(flag), fallback(flag), flag.help, variable(flag)]),
    ),
    '## The commands',
    COMMAND,
    table(
      ['Flag', 'Of', 'Default', 'What it does', 'Variable'],
      commandFlags().map(({ flag, commands }) => [
        usage(flag),
        commands.map((name) => code(name)).join(', '),
        fallback(flag),
        flag.help,
        variable(flag),
      ]),
    ),
  ])
  return { path: 'docs/flags.md', text }
}

const usage = (flag: FlagText) => code(flag.usage)
const fallback = (flag: FlagText) => (flag.fallback === '' ? '' : code(flag.fallback))
const variable = (flag: FlagText) => flag.variable.replace(/^\w+/, (name) => code(name))

/** The flags of all commands by name; a flag with the same description in several commands is listed once. */
function commandFlags(): { flag: FlagText; commands: string[] }[] {
  const found = new Map<string, { flag: FlagText; commands: string[] }>()
  for (const [name, { flags }] of COMMANDS) {
    for (const flag of flagTexts(flags)) {
      const key = JSON.stringify(flag)
      const known = found.get(key) ?? { flag, commands: [] }
      found.set(key, known)
      known.commands.push(name)
    }
  }
  return [...found.values()].toSorted((a, b) => (a.flag.usage < b.flag.usage ? -1 : 1))
}
