import { text, toggle, type Values } from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, IGNORES_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { READING_FLAGS } from '../input/reading.ts'
import { RELEASE_FLAGS } from '../input/release.ts'

const { namespace, exclude } = READING_FLAGS

/** The flags of the command `mcp`, which apply to all calls. */
export const MCP_FLAGS = {
  directory: text(
    'the folder whose files calls may name, with those below it; by default the one in which it is started',
    'DIR',
    '',
  ),
  strict: toggle('unknown fields are errors, and placeholders are judged as they stand'),
  namespace,
  exclude,
  ...CONFIGURATION_FLAG,
  ...IGNORES_FLAG,
  ...JUDGING_FLAGS,
  ...RELEASE_FLAGS,
}

export type ServerFlags = Values<typeof MCP_FLAGS>
