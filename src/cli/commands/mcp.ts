import { UsageError } from '../../configuration/flags.ts'
import { defineCommand } from '../define-command.ts'
import { MCP_FLAGS } from '../mcp/flags.ts'

export const mcp = defineCommand({
  name: 'mcp',
  summary: 'serve an agent: check, explain, fix, plan, access, role (Model Context Protocol)',
  arguments: [
    ['[flags]', 'talk over standard input and output; read files below this folder, and no cluster'],
  ],
  flags: MCP_FLAGS,
  examples: ['--release 0.63'],
  exitCodes: { 0: 'the client has ended' },
  run: async ({ names, args, environment }) => {
    if (names.length > 0) throw new UsageError('name no files: each call names its own')
    const { serve } = await import('../mcp/serve.ts')
    return serve(args, environment)
  },
})
