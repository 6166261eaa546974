import {
  createConnection,
  ProposedFeatures,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver/node'
import type { Judging } from '../commands/judge-document.ts'
import type { ReadOptions } from '../input/documents.ts'
import { type Configured, LanguageServer } from './serve.ts'

/** Serves an editor over standard input and output; resolves to the exit code once the editor has closed it. */
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
