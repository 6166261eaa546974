import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

/**
 * The text of a regular file; undefined when it does not exist. Throws an Error without the path: `is not a regular
 * file` or `cannot be read: CODE`. Opens without blocking: opening a FIFO would wait for its writer in a thread that
 * keeps the process alive.
 */
export async function readRegularFile(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!(await file.stat()).isFile()) throw new Error('is not a regular file')
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw code === undefined ? error : new Error(`cannot be read: ${code}`)
  }
}
