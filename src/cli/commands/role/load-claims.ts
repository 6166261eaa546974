import { statSync } from 'node:fs'
import { UsageError } from '../../../configuration/flags.ts'
import { readClaims, type ReadClaims } from '../../input/claims.ts'
import { readSources, type SourceFile } from '../../input/files.ts'
import { ReadError } from '../../input/nodes.ts'
import { UnreadConfiguration, unreadFile } from './config.ts'

/** Returns a function that loads the claims or throws UnreadConfiguration. Throws UsageError if both names are `-`. */
export function claimsBeside(config: string, file: string): () => Promise<ReadClaims> {
  if (file === '-' && config === '-')
    throw new UsageError('standard input can be the configuration or the claims, not both')
  return () => loadClaims(file)
}

/** The claims in a file or in standard input. Throws UnreadConfiguration. */
export async function loadClaims(file: string): Promise<ReadClaims> {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true)
    throw unreadFile(file, 'it is a folder')
  for await (const source of readSources(file)) return claimsIn(source)
  throw unreadFile(file, 'no such file')
}

/** Parses the claims in the text of a file. Throws UnreadConfiguration. */
export function claimsIn(source: SourceFile): ReadClaims {
  if ('problem' in source) throw unreadFile(source.name, source.problem)
  try {
    return readClaims(source.text)
  } catch (error) {
    if (!(error instanceof ReadError)) throw error
    const before = source.text.slice(0, error.offset).split('\n')
    const place = { line: before.length, column: (before.at(-1) ?? '').length + 1 }
    throw new UnreadConfiguration({ file: source.name, ...place, message: error.message })
  }
}
