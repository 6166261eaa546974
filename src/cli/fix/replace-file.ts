import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errorMessage } from '../../rule/index.ts'
import { followLinks, readRegularFile } from '../input/regular-file.ts'

/**
 * Replaces the text of a file, keeping its mode and, where permitted, its owner. The text is written to a new file,
 * which replaces the old one only when it is completely on the disk, so a full disk leaves the old file. Returns why
 * the file was not written; undefined on success.
 */
export async function replaceFile(name: string, before: string, after: string): Promise<string | undefined> {
  try {
    // A link may lead to another file of the repository: its target is written, and the link is kept.
    const path = await followLinks(name)
    if (!(await readRegularFile(path)).equals(Buffer.from(before)))
      return 'it is not in UTF-8, or has changed'
    const beside = join(dirname(path), `.${basename(path).slice(0, 100)}.${randomUUID()}`)
    try {
      await writeNew(beside, after, path)
      await rename(beside, path)
    } catch (error) {
      await rm(beside, { force: true })
      throw error
    }
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return `it is as it was: ${(code === undefined ? undefined : REASONS[code]) ?? errorMessage(error)}`
  }
}

async function writeNew(path: string, text: string, like: string): Promise<void> {
  const { mode, uid, gid } = await stat(like)
  const file = await open(path, 'wx', mode & 0o777)
  try {
    await file.writeFile(text)
    await keepOwner(file, uid, gid)
    await file.chmod(mode & 0o7777)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Keeps the owner of the replaced file where permitted: only root may give a file to another user. */
async function keepOwner(file: FileHandle, uid: number, gid: number): Promise<void> {
  await file.chown(uid, gid).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EPERM') throw new Error(`its owner cannot be kept: ${code ?? ''}`)
  })
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied beside it',
  EDQUOT: 'no space is left',
  ENOSPC: 'no space is left',
  EROFS: 'the disk is read-only',
}
