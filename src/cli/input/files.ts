import { fitsPath, withoutEnd } from '../../rule/index.ts'
import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { posix, sep } from 'node:path'
import { FILE_NAME, isManifest } from '../../configuration/file.ts'
import {
  type Allowance,
  followLinks,
  MANIFEST,
  newAllowance,
  readChunks,
  readRegularFile,
} from './regular-file.ts'

/** A file that is named in the arguments or found in a folder; `problem` says why it could not be read. */
export type SourceFile =
  { readonly name: string; readonly text: string } | { readonly name: string; readonly problem: string }

/** The name of standard input in findings. */
export const INPUT = '<stdin>'

/** Whether `--exclude` excludes the file or folder at this path. */
export type Excluded = (path: string) => boolean

/** The files to leave out, and the most bytes to read. */
interface Reading {
  readonly excluded: Excluded
  readonly allowance: Allowance
}

/**
 * Reads a file, a folder (all .yaml, .yml and .json files below, except hidden ones, node_modules and links to folders)
 * or `-` for stdin. Reads no more than `allowance` permits, and follows no link that leads out of its repository.
 */
export async function* readSources(
  name: string,
  excluded: Excluded = () => false,
  allowance: Allowance = newAllowance(),
): AsyncIterable<SourceFile> {
  if (name === '-') yield await readStream(INPUT, () => process.stdin, allowance)
  else yield* readNamed(withSlashes(name), { excluded, allowance })
}

/** A path with slashes, as findings print it on every system; Windows can read it too. */
export const withSlashes = (path: string): string => path.replaceAll(sep, '/')

/**
 * Returns a function that tells whether `--exclude` excludes a path. A pattern with a "/" is matched against the path
 * as findings print it, other patterns against each name in the path. Files in an excluded folder are excluded too.
 */
export function excluding(patterns: readonly string[]): Excluded {
  const anchored = patterns.map((pattern) => {
    const named = withoutEnd(pattern, '/')
    return `${named.includes('/') ? '' : '**/'}${posix.normalize(named)}`
  })
  return (path) => {
    const name = posix.normalize(withSlashes(path))
    return anchored.some((pattern) => fitsPath(pattern, name))
  }
}

async function readStream(
  name: string,
  open: () => AsyncIterable<Buffer | string>,
  allowance: Allowance,
): Promise<SourceFile> {
  try {
    return sourceOf(name, await readChunks(open(), allowance))
  } catch (error) {
    return { name, problem: whyUnread(error, name) }
  }
}

/** The paths that a shell passes for `<(COMMAND)`: they are pipes, outside of any repository. */
export const PIPE = /^\/dev\/(?:stdin|fd\/\d+)$/

async function* readNamed(name: string, reading: Reading): AsyncIterable<SourceFile> {
  const { excluded, allowance } = reading
  if (excluded(name)) return
  if (PIPE.test(name)) {
    yield await readStream(name, () => createReadStream(name), allowance)
    return
  }
  try {
    const path = await followLinks(name)
    if ((await stat(path)).isDirectory()) yield* readFolder(name, reading)
    else yield sourceOf(name, await readRegularFile(path, allowance))
  } catch (error) {
    yield { name, problem: whyUnread(error, name) }
  }
}

async function* readFolder(folder: string, reading: Reading): AsyncIterable<SourceFile> {
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = posix.join(folder, entry.name)
    if (isPassedOver(entry.name)) continue
    if (entry.isDirectory()) yield* readNamed(name, reading)
    else if (MANIFEST.test(entry.name) && !(await isLinkToFolder(name))) {
      for await (const file of readNamed(name, reading)) if (!isConfiguration(entry.name, file)) yield file
    }
  }
}

/** Whether a file or folder of this name, inside a folder that is read, is not read. */
export const isPassedOver = (name: string): boolean => name.startsWith('.') || name === 'node_modules'

const isConfiguration = (name: string, file: SourceFile): boolean =>
  name === FILE_NAME && 'text' in file && !isManifest(file.text)

/** Whether the path is a link to a folder, which could lead back to the current folder. */
const isLinkToFolder = (name: string): Promise<boolean> =>
  stat(name).then(
    (found) => found.isDirectory(),
    () => false,
  )

export function sourceOf(name: string, bytes: Buffer): SourceFile {
  const text = decoded(bytes)
  return !isUtf8(bytes) && CONTROL.test(text)
    ? { name, problem: 'a binary file, not YAML or JSON' }
    : { name, text }
}

/** Control characters that do not occur in text files. */
const CONTROL = /[\u0000-\u0008\u000e-\u001f]/

/** Decodes text as kubectl does: UTF-16 with a byte order mark (PowerShell writes it), otherwise UTF-8. */
function decoded(bytes: Buffer): string {
  const mark = bytes.toString('hex', 0, 2)
  const encoding = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8'
  return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)
}

/** Why a file could not be read. */
export function whyUnread(error: unknown, name: string): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' && name.includes('*'))
    return 'no such file or folder; a shell replaces * where it is not quoted'
  if (code === 'ENOENT' && /(?:^|\/)git:/.test(name))
    return 'no such file or folder; revisions of git are for plan, access and steps'
  return (code === undefined ? undefined : REASONS[code]) ?? message
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  ELOOP: 'a link that leads to itself',
  ENOENT: 'no such file or folder',
  ENOTDIR: 'no such file or folder',
  ERR_FS_FILE_TOO_LARGE: 'too large',
  ERR_STRING_TOO_LONG: 'too large',
}
