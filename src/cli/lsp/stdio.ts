import {
  createConnection,
  ProposedFeatures,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver/node'
import type { Judging } from '../commands/judge-document.ts'
import type { ReadOptions } from '../input/documents.ts'
import { type Configured, LanguageServer } from './serve.ts'

/**
 * Serves an editor by the Language Server Protocol over standard input and output; resolves to the exit code when the
 * editor has closed the connection.
 */
export function serveStdio(judging: Judging, options: ReadOptions, configured: Configured): Promise<number> {
  const connection = createConnection(
    ProposedFeatures.all,
    new StreamMessageReader(process.stdin),
    new StreamMessageWriter(process.stdout),
  )
  new LanguageServer(connection, judging, options, configured)
  return new Promise((resolve) => {
    connection.onExit(() => {
      resolve(0)
    })
    process.stdin.once('close', () => {
      resolve(0)
    })
  })
}
