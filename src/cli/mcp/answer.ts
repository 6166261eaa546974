/** Answers calls of MCP tools with the functions of the commands; the arguments of a call take the place of flags. */
import { type Environment, readFlags, UsageError, type Values } from '../../configuration/flags.ts'
import { accessOf, openAccess } from '../commands/access.ts'
import { ACCESS_FLAGS } from '../commands/access/flags.ts'
import { CHECK_FLAGS, checkFiles } from '../commands/check.ts'
import { explain } from '../commands/explain.ts'
import { FIX_FLAGS, fixesOf } from '../commands/fix.ts'
import { PLAN_FLAGS, planOf } from '../commands/plan.ts'
import { claimsIn } from '../commands/role/load-claims.ts'
import { roleOf } from '../commands/role/one-caller.ts'
import type { Invocation, CommandResult } from '../define-command.ts'
import { MCP_FLAGS, type ServerFlags } from './flags.ts'
import { type Inputs, namesOf, type ToolName } from './tools.ts'

/** A call of a tool, with the flags of the server. */
export interface ToolCall {
  readonly tool: ToolName
  readonly input: Inputs[ToolName]
  readonly args: readonly string[]
  readonly environment: Environment
}

/** The result of a call; empty for `explain`, which prints its text on standard output. */
export interface CallResult {
  /** The result as JSON, as the command prints it with `--output json`. */
  readonly json?: string
  readonly text?: string
  /** Set for wrong usage: the text says what to write instead. */
  readonly isError?: true
}

type Found = CommandResult<'human' | 'json'>

export async function answer({ tool, input, args, environment }: ToolCall): Promise<CallResult> {
  try {
    const { values } = readFlags(MCP_FLAGS, args, environment)
    const found = await ANSWERS[tool](input as never, values)
    return found === undefined ? {} : { json: await found.text('json'), text: await found.text('human') }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return { text: error.message, isError: true }
  }
}

const ANSWERS: {
  readonly [Name in ToolName]: (input: Inputs[Name], server: ServerFlags) => Promise<Found | undefined>
} = {
  check: (input, server) => {
    const { strict = server.strict } = input
    return checkFiles(invocation(CHECK_FLAGS, server, input, { strict }))
  },
  explain: async ({ about }) => {
    await explain.run([about], {})
    return undefined
  },
  fix: (input, server) =>
    fixesOf(invocation(FIX_FLAGS, server, input, { 'add-defaults': input.add_defaults === true })),
  // Without its flag `together`, the command `plan` reads two names as an old and a new state.
  plan: (input, server) =>
    planOf(invocation(PLAN_FLAGS, server, input, { together: input.old === undefined })),
  access: (input, server) => {
    const { who = [], deny_new: denied = [] } = input
    return accessOf(invocation(ACCESS_FLAGS, server, input, { who, 'deny-new': denied }))
  },
  role: async ({ path, name, claims, release }, server) => {
    const { flags, reading } = await openAccess(flagsOf(ACCESS_FLAGS, server, release), [path ?? '-'])
    const config = path ?? (name === undefined ? '-' : `-#${name}`)
    const text = typeof claims === 'string' ? claims : JSON.stringify(claims)
    return roleOf(
      { ...flags, config },
      () => Promise.resolve(claimsIn({ name: 'claims', text })),
      reading,
      {},
    )
  },
}

interface Files {
  readonly paths?: readonly string[]
  readonly manifests?: string
  readonly old?: string
  readonly release?: string
}

/** The arguments of a command: the files of a tool call, the old state first, and the flags. Throws UsageError. */
function invocation<F extends object>(
  table: F,
  server: ServerFlags,
  input: Files,
  own: Partial<Values<F>>,
): Invocation<F> {
  const { old, release } = input
  const names = [...(old === undefined ? [] : [old]), ...namesOf(input)]
  return { flags: { ...flagsOf(table, server, release), ...own }, names, args: [], environment: {} }
}

/** The values of a command's flags: those of the MCP server, but the release of the tool call. Throws UsageError. */
function flagsOf<F extends object>(table: F, server: ServerFlags, release = server.release): Values<F> {
  const { values } = readFlags(table, release === '' ? [] : [`--release=${release}`], {})
  const known = Object.entries(server).filter(([name]) => name in table && name !== 'release')
  const crds = release === '' ? server.crds : ''
  return { ...values, ...Object.fromEntries(known), ...('crds' in table && { crds }) }
}
