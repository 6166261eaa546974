import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** A file as named by the person or found in a folder; `problem` when it could not be read. */
export type SourceFile =
  { readonly name: string; readonly text: string } | { readonly name: string; readonly problem: string }

const MANIFEST = /\.(ya?ml|json)$/i

/** Reads files, folders (every .yaml, .yml and .json below, hidden ones and node_modules left out) and `-` for stdin. */
export async function* readSources(names: readonly string[]): AsyncIterable<SourceFile> {
  for (const name of names) {
    if (name === '-') yield { name: '<stdin>', text: await text(process.stdin) }
    else yield* readNamed(name)
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
    if (!hidden && (entry.isDirectory() || MANIFEST.test(entry.name)))
      yield* readNamed(join(folder, entry.name))
  }
}

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'no such file or folder'
  return code === 'EACCES' ? 'permission denied' : message
}
