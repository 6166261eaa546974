import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

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
    return { name: INPUT, text: await text(process.stdin) }
  } catch (error) {
    return { name: INPUT, problem: reason(error) }
  }
}

async function* readNamed(name: string): AsyncIterable<SourceFile> {
  try {
    if ((await stat(name)).isDirectory()) yield* readFolder(name)
    else yield { name, text: await readFile(name, 'utf8') }
  } catch (error) {
    yield { name, problem: reason(error) }
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

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'no such file or folder'
  return code === 'EACCES' ? 'permission denied' : message
}
