import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, relative } from 'node:path'
import type { Environment } from '../../configuration/flags.ts'

/** The absolute folders of PATH, except those inside the repository (`tree`), where anyone may have put a program. */
export function searchPath(environment: Environment, tree: string): string[] {
  const written = environment.PATH ?? environment.Path ?? ''
  return written.split(delimiter).filter((folder) => isAbsolute(folder) && !isIn(folder, tree))
}

/**
 * The path of a program; undefined when it is not found. This function searches PATH itself, because Windows would
 * search the working folder first.
 */
export function findProgram(name: string, environment: Environment, tree: string): string | undefined {
  const file = process.platform === 'win32' ? `${name}.exe` : name
  const paths = searchPath(environment, tree).map((folder) => join(folder, file))
  return paths.find((path) => isProgram(path) && !isIn(path, tree))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function isIn(path: string, tree: string): boolean {
  try {
    const inTree = relative(realpathSync(tree), realpathSync(path))
    return inTree === '' || (!inTree.startsWith('..') && !isAbsolute(inTree))
  } catch {
    return false
  }
}
