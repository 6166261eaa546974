import { chdir } from 'node:process'
import { UsageError } from '../../configuration/flags.ts'
import { defineCommand } from '../define-command.ts'
import { whyUnread } from '../input/files.ts'
import { MCP_FLAGS } from '../mcp/flags.ts'

export const mcp = defineCommand({
  name: 'mcp',
  summary: 'serve an agent: check, explain, fix, plan, access, role (Model Context Protocol)',
  arguments: [['[flags]']],
  flags: MCP_FLAGS,
  examples: ['--release 0.63'],
  exitCodes: { 0: 'the client has ended' },
  run: async ({ flags: { directory }, names, args, environment }) => {
    if (names.length > 0) throw new UsageError('name no files: each call names its own')
    if (directory !== '') enter(directory)
    const { serve } = await import('../mcp/serve.ts')
    return serve(args, environment)
  },
})

function enter(directory: string): void {
  try {
    chdir(directory)
  } catch (error) {
    throw new UsageError(`--directory ${directory}: ${whyUnread(error, directory)}`)
  }
}
