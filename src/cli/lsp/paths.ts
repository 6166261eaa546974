import { realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorMessage } from '../../rule/index.ts'
import { isPassedOver } from '../input/files.ts'
import { MANIFEST } from '../input/regular-file.ts'

/** The most bytes of a file that is read, and the most characters of an open file. */
export const MOST_BYTES = 32 * 2 ** 20

/**
 * The local path that a URI names; undefined when it names none. Editors may send any text, and encode the URI of a
 * file in different ways; its path is always the same, and identifies it.
 */
export function pathOf(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !/^file:/i.test(uri)) return undefined
  try {
    return resolve(fileURLToPath(uri)).replace(/^[a-z]:/, (drive) => drive.toUpperCase())
  } catch {
    return undefined
  }
}

/** Whether the path is the folder or inside it. */
export const isIn = (folder: string, path: string): boolean => {
  const inside = relative(folder, path)
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
}

/** Whether reading the folders finds the existing file at this path, unless it is excluded. */
export const isFound = (path: string, folders: readonly string[]): boolean =>
  MANIFEST.test(basename(path)) &&
  folders.some((folder) => {
    if (!isIn(folder, path)) return false
    const inside = relative(folder, path)
    // Links to folders are not followed.
    const isHere = realpathSync(dirname(path)) === join(realpathSync(folder), dirname(inside))
    return isHere && !inside.split(sep).some(isPassedOver)
  })

/**
 * Why a file or folder of a workspace is not read: a stranger may have made it a link to an endless device or a
 * secret. Undefined when it may be read.
 */
export function whyNotRead(path: string, folders: readonly string[]): string | undefined {
  try {
    const real = realpathSync(path)
    if (!folders.some((folder) => isIn(realpathSync(folder), real)))
      return 'not read: a link that leads out of the workspace'
    const stats = statSync(real)
    if (stats.isDirectory()) return undefined
    if (!stats.isFile()) return 'not read: it is not a regular file'
    return stats.size > MOST_BYTES ? TOO_LARGE : undefined
  } catch (error) {
    return `not read: ${errorMessage(error)}`
  }
}

export const TOO_LARGE = 'not read: it is larger than 32 MB'
