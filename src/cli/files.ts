import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'

/** A file as named by the person or found in a folder; `problem` when it could not be read. */
export type SourceFile =
  { readonly name: string; readonly text: string } | { readonly name: string; readonly problem: string }

const MANIFEST = /\.(ya?ml|json)$/i

/** What standard input is called. */
export const INPUT = '<stdin>'

/** Reads a file, a folder (every .yaml, .yml and .json below; hidden ones, node_modules and links to folders left out) or `-` for stdin. */
export async function* readSources(name: string): AsyncIterable<SourceFile> {
  if (name === '-') yield await readInput()
  else yield* readNamed(name)
}

async function readInput(): Promise<SourceFile> {
  try {
    return { name: INPUT, text: decoded(await buffer(process.stdin)) }
  } catch (error) {
    return { name: INPUT, problem: reason(error, INPUT) }
  }
}

async function* readNamed(name: string): AsyncIterable<SourceFile> {
  try {
    if ((await stat(name)).isDirectory()) yield* readFolder(name)
    else yield { name, text: decoded(await readFile(name)) }
  } catch (error) {
    yield { name, problem: reason(error, name) }
  }
}

async function* readFolder(folder: string): AsyncIterable<SourceFile> {
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const hidden = entry.name.startsWith('.') || entry.name === 'node_modules'
    const name = join(folder, entry.name)
    if (!hidden && entry.isDirectory()) yield* readNamed(name)
    else if (!hidden && MANIFEST.test(entry.name)) yield* readFound(name)
  }
}

/** What was found by its name may be anything: a link to a folder can lead back here, and a pipe has no end. */
async function* readFound(name: string): AsyncIterable<SourceFile> {
  const found = await stat(name).catch(() => undefined)
  if (found === undefined || found.isFile()) yield* readNamed(name)
  else if (!found.isDirectory()) yield { name, problem: 'is no file' }
}

/** Text as kubectl decodes it: UTF-16 where a mark says so, which PowerShell writes, else UTF-8. */
function decoded(bytes: Buffer): string {
  const mark = bytes.toString('hex', 0, 2)
  const encoding = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8'
  return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)
}

function reason(error: unknown, name: string): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' && name.includes('*'))
    return 'no such file or folder; a shell replaces * where it is not quoted'
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
