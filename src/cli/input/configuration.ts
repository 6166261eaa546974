import { existsSync, readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { type Configuration, FILE_NAME, isManifest, NO_CONFIGURATION } from '../../configuration/file.ts'
import { UsageError } from '../../configuration/flags.ts'
import { errorMessage } from '../../rule/error-message.ts'

/**
 * Reads the file that `--config-file` names, or else the one beside the given files or above them, as far as the root of
 * the repository. Throws UsageError.
 */
export async function openConfiguration(flag: string, names: readonly string[]): Promise<Configuration> {
  const file = flag === '' ? theOneFor(names) : flag
  if (file === undefined || file === 'off') return NO_CONFIGURATION
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`${file}: ${errorMessage(error)}`)
  })
  const { readConfiguration } = await import('../../configuration/read-file.ts')
  return readConfiguration(file, text)
}

/** One run has one configuration, because all files are judged beside each other. */
function theOneFor(names: readonly string[]): string | undefined {
  const folders = names.length === 0 ? ['.'] : names.map((name) => (isFolder(name) ? name : dirname(name)))
  const found = [...new Set(folders.flatMap((folder) => nearestFile(resolve(folder)) ?? []))]
  const [first, second] = found.map((file) => relative('', file))
  if (second !== undefined)
    throw new UsageError(
      `${first} and ${second} are both for these files: name one with --config-file, or check them one after the other`,
    )
  return first
}

function isFolder(name: string): boolean {
  try {
    return name !== '-' && statSync(name).isDirectory()
  } catch {
    return false
  }
}

function isConfiguration(file: string): boolean {
  if (!existsSync(file)) return false
  try {
    return !isManifest(readFileSync(file, 'utf8'))
  } catch {
    return true // What is wrong with it is said where it is read.
  }
}

function nearestFile(folder: string): string | undefined {
  const file = join(folder, FILE_NAME)
  if (isConfiguration(file)) return file
  const misnamed = file.replace(/yaml$/, 'yml')
  if (isConfiguration(misnamed)) throw new UsageError(`${relative('', misnamed)}: call it ${FILE_NAME}`)
  const above = dirname(folder)
  return above === folder || existsSync(join(folder, '.git')) ? undefined : nearestFile(above)
}

/** Whether a run covers every file that the configuration is for. */
export function coversAll({ file }: Configuration, names: readonly string[]): boolean {
  if (file === undefined) return false
  const folder = dirname(resolve(file))
  return names.some((name) => isFolder(name) && !relative(resolve(name), folder).startsWith('..'))
}
