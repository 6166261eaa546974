import { existsSync, lstatSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { type Configuration, FILE_NAME, isManifest, NO_CONFIGURATION } from '../../configuration/file.ts'
import { UsageError } from '../../configuration/flags.ts'
import { PIPE, whyUnread } from './files.ts'
import { followLinks, newAllowance, readRegularFile } from './regular-file.ts'

/** The most bytes of a configuration file: the server reads its file from a ConfigMap, which can hold 1 MiB. */
const MOST_BYTES = 2 ** 20

/**
 * Reads the configuration file: the one that `--config-file` names, or else the one in the folder of the given files or
 * in the nearest folder above, up to the root of the repository. Throws UsageError.
 */
export async function openConfiguration(flag: string, names: readonly string[]): Promise<Configuration> {
  const file = flag === '' ? await theOneFor(names) : flag
  if (file === undefined || file === 'off') return NO_CONFIGURATION
  const text = await textOf(file)
  const { readConfiguration } = await import('../../configuration/read-file.ts')
  return readConfiguration(file, text)
}

/** The text of a configuration file. A link to outside the repository is refused, because messages quote the text. */
async function textOf(file: string): Promise<string> {
  try {
    const bytes = await readRegularFile(await followLinks(file), newAllowance(), MOST_BYTES)
    return bytes.toString()
  } catch (error) {
    throw new UsageError(`${file}: ${whyUnread(error, file)}`)
  }
}

/** The configuration file for all arguments: a run has only one, because all files are judged together. */
async function theOneFor(names: readonly string[]): Promise<string | undefined> {
  const folders = names.length === 0 ? ['.'] : names.map(folderOf)
  const found = new Set<string>()
  for (const folder of new Set(folders.map((each) => resolve(each)))) {
    const file = await nearestFile(folder)
    if (file !== undefined) found.add(file)
  }
  const [first, second] = Array.from(found, (file) => relative('', file))
  if (second !== undefined)
    throw new UsageError(
      `${first} and ${second} are both for these files: name one with --config-file, or check them one after the other`,
    )
  return first
}

/** The folder in which the search for the configuration file of an argument begins; for a pipe the working folder. */
const folderOf = (name: string): string => (isFolder(name) ? name : PIPE.test(name) ? '.' : dirname(name))

function isFolder(name: string): boolean {
  try {
    return name !== '-' && statSync(name).isDirectory()
  } catch {
    return false
  }
}

/**
 * Whether there is a configuration file at this path. Throws UsageError when it cannot be read, as for a link to a
 * missing file.
 */
async function isConfiguration(file: string): Promise<boolean> {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return false
  return !isManifest(await textOf(relative('', file)))
}

async function nearestFile(folder: string): Promise<string | undefined> {
  const file = join(folder, FILE_NAME)
  if (await isConfiguration(file)) return file
  const misnamed = file.replace(/yaml$/, 'yml')
  if (await isConfiguration(misnamed)) throw new UsageError(`${relative('', misnamed)}: call it ${FILE_NAME}`)
  const above = dirname(folder)
  return above === folder || existsSync(join(folder, '.git')) ? undefined : nearestFile(above)
}

/** Whether the files of a run include every file that the configuration file applies to. */
export function coversAll({ file }: Configuration, names: readonly string[]): boolean {
  if (file === undefined) return false
  const folder = dirname(resolve(file))
  return names.some((name) => isFolder(name) && !relative(resolve(name), folder).startsWith('..'))
}
