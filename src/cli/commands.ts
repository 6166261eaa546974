import { access } from './commands/access.ts'
import { audit } from './commands/audit.ts'
import { check } from './commands/check.ts'
import { completionOf } from './commands/completion.ts'
import { doctor } from './commands/doctor.ts'
import { explain } from './commands/explain.ts'
import { fix } from './commands/fix.ts'
import { init } from './commands/init.ts'
import { lsp } from './commands/lsp.ts'
import { mcp } from './commands/mcp.ts'
import { plan } from './commands/plan.ts'
import { playground } from './commands/playground.ts'
import { probe } from './commands/probe.ts'
import { replay } from './commands/replay.ts'
import { role } from './commands/role.ts'
import { steps } from './commands/steps.ts'
import { uninstall } from './commands/uninstall.ts'
import type { Command } from './define-command.ts'

/** The commands in the groups of the help: the five most used ones, then the others by task. */
export const GROUPS: readonly (readonly [title: string, commands: readonly Command[]])[] = [
  ['Most used', [check, fix, audit, explain, plan]],
  ['Check', [probe, replay, lsp, mcp, playground]],
  ['Understand', [access]],
  ['Begin and change', [init, steps]],
  ['Operate', [doctor, uninstall, completionOf(() => COMMANDS.values())]],
]

/** Former names of commands, which the help does not list. */
const ALIASES: readonly Command[] = [role]

/** The commands by name, in the order of the help. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map(
  [...GROUPS.flatMap(([, commands]) => commands), ...ALIASES].map((command) => [command.name, command]),
)
