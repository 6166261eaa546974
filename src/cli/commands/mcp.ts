import { toggle, UsageError } from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, IGNORES_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { defineCommand } from '../define-command.ts'
import { READING_FLAGS } from '../input/reading.ts'
import { RELEASE_FLAGS } from '../input/release.ts'

const { namespace, exclude } = READING_FLAGS

export const MCP_FLAGS = {
  strict: toggle('unknown fields are errors, and placeholders are judged as they stand'),
  namespace,
  exclude,
  ...CONFIGURATION_FLAG,
  ...IGNORES_FLAG,
  ...JUDGING_FLAGS,
  ...RELEASE_FLAGS,
}

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
