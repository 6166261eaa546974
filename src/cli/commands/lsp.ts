import { readFlags, toggle, UsageError } from '../../configuration/flags.ts'
import { chosenSeverities, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { READING_FLAGS, readOptions } from '../input/reading.ts'
import { readRelease, RELEASE_FLAGS } from '../input/release.ts'

export const LSP_FLAGS = {
  strict: toggle('unknown fields are errors, and placeholders are judged as they stand'),
  // Editors add it; there is no other way to connect.
  stdio: toggle('talk over standard input and output, as always'),
  ...READING_FLAGS,
  ...JUDGING_FLAGS,
  ...RELEASE_FLAGS,
}

/** Serves an editor over the Language Server Protocol until it closes the connection. Throws UsageError. */
export async function lsp(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { values: flags, positionals } = readFlags(LSP_FLAGS, args, environment)
  if (positionals.length > 0)
    throw new UsageError('name no files: the editor names the folders of its workspace')
  const group = flags['api-group']
  const judging = {
    group,
    namespace: flags.namespace || 'default',
    strict: flags.strict || flags.profile === 'strict',
    severities: chosenSeverities(flags),
    release: await readRelease(flags, group),
  }
  const { serveStdio } = await import('../lsp/stdio.ts')
  return serveStdio(judging, readOptions(flags, environment))
}
