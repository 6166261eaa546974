import { toggle, UsageError, type Values } from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { type Configuration, NO_CONFIGURATION } from '../../configuration/file.ts'
import { defineCommand } from '../define-command.ts'
import { openConfiguration } from '../input/configuration.ts'
import { EDITOR_READING_FLAGS, readOptions } from '../input/reading.ts'
import { readRelease, RELEASE_FLAGS } from '../input/release.ts'
import { worldWith } from '../input/world.ts'
import type { Configured } from '../lsp/serve.ts'
import type { Judging } from './judge-document.ts'

export const LSP_FLAGS = {
  strict: toggle('unknown fields are errors, and placeholders are judged as they stand'),
  // Editors pass this flag, although there is no other way to connect.
  stdio: toggle('talk over standard input and output, as always'),
  ...EDITOR_READING_FLAGS,
  ...CONFIGURATION_FLAG,
  ...JUDGING_FLAGS,
  ...RELEASE_FLAGS,
}

export const lsp = defineCommand({
  name: 'lsp',
  summary: 'serve an editor: findings, completion, names (Language Server Protocol)',
  arguments: [['[flags]']],
  flags: LSP_FLAGS,
  examples: ['--stdio'],
  exitCodes: { 0: 'the editor has ended' },
  run: async ({ flags, names, environment }) => {
    if (names.length > 0) throw new UsageError('name no files: the editor names the folders of its workspace')
    const { judging, configured } = await judgingWith(flags)
    const { serveStdio } = await import('../lsp/stdio.ts')
    return serveStdio(judging, readOptions(flags, environment), configured)
  },
})

/** The settings in the flags, and a function that adds those in the workspace's configuration. Throws UsageError. */
export async function judgingWith(
  flags: Values<typeof LSP_FLAGS>,
): Promise<{ readonly judging: Judging; readonly configured: Configured }> {
  const judging = async (configuration: Configuration) =>
    worldWith(configuration, flags, await readRelease(flags, flags['api-group'], configuration))
  const configured = async (folders: readonly string[]) =>
    judging(await openConfiguration(flags['config-file'], folders))
  return { judging: await judging(NO_CONFIGURATION), configured }
}
