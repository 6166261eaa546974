import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type MessageConnection,
} from 'vscode-jsonrpc/node'
import type { Diagnostic, Position, PublishDiagnosticsParams } from 'vscode-languageserver'
import { createConnection } from 'vscode-languageserver/node'
import { judgingWith, LSP_FLAGS } from '../../src/cli/commands/lsp.ts'
import { readOptions } from '../../src/cli/input/reading.ts'
import { LanguageServer } from '../../src/cli/lsp/serve.ts'
import { readFlags } from '../../src/configuration/flags.ts'

/** An editor that has a folder open and talks to the language server. */
export interface Editor {
  readonly connection: MessageConnection
  /** Waits until the diagnostics of a file satisfy the condition, and returns them. */
  shown(
    name: string,
    isWanted?: (diagnostics: readonly Diagnostic[]) => boolean,
  ): Promise<readonly Diagnostic[]>
  open(name: string, text: string): Promise<void>
  change(name: string, text: string): Promise<void>
  close(name: string): Promise<void>
  /** Writes the file and sends didSave. */
  save(name: string, text: string): Promise<void>
  ask(method: string, name: string, position: Position, more?: object): Promise<unknown>
  /** The URI of a file in the folder; a name that is already a URI is returned unchanged. */
  uri(name: string): string
  /** Lets up to 500 turns of the event loop pass, in which the server judges. */
  rest(): Promise<void>
}

/**
 * Starts a language server in this process with the flags of `lsp`, for a new folder with these files. `folders` are
 * the workspace folders in it.
 */
export async function startEditor(
  t: Test,
  files: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
  folders: readonly string[] = ['.'],
): Promise<Editor> {
  const folder = t.testdir({})
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const toServer = new PassThrough()
  const toEditor = new PassThrough()
  const { values } = readFlags(LSP_FLAGS, flags, {})
  const { judging, configured } = await judgingWith(values)
  new LanguageServer(createConnection(toServer, toEditor), judging, readOptions(values, {}), configured)
  const connection = createMessageConnection(
    new StreamMessageReader(toEditor),
    new StreamMessageWriter(toServer),
  )
  const shown = new Map<string, readonly Diagnostic[]>()
  const watchers = new Set<() => void>()
  connection.onNotification('textDocument/publishDiagnostics', (params: PublishDiagnosticsParams) => {
    shown.set(params.uri, params.diagnostics)
    for (const each of watchers) each()
  })
  connection.onRequest('client/registerCapability', () => null)
  connection.listen()
  t.teardown(() => {
    connection.dispose()
  })
  const uri = (name: string) => (name.startsWith('file:') ? name : pathToFileURL(join(folder, name)).href)
  await connection.sendRequest('initialize', {
    processId: null,
    rootUri: null,
    capabilities: {},
    workspaceFolders: folders.map((name) => ({ uri: uri(name), name })),
  })
  await connection.sendNotification('initialized', {})
  let version = 1
  return {
    connection,
    uri,
    rest: async () => {
      for (let i = 0; i < 500; i++) await turn()
    },
    shown: (name, isWanted = (diagnostics) => diagnostics.length > 0) =>
      new Promise((resolve) => {
        const look = () => {
          const diagnostics = shown.get(uri(name)) ?? []
          if (!isWanted(diagnostics)) return
          watchers.delete(look)
          resolve(diagnostics)
        }
        watchers.add(look)
        look()
      }),
    open: (name, text) =>
      connection.sendNotification('textDocument/didOpen', {
        textDocument: { uri: uri(name), languageId: 'yaml', version, text },
      }),
    change: (name, text) =>
      connection.sendNotification('textDocument/didChange', {
        textDocument: { uri: uri(name), version: ++version },
        contentChanges: [{ text }],
      }),
    close: (name) =>
      connection.sendNotification('textDocument/didClose', { textDocument: { uri: uri(name) } }),
    save: (name, text) => {
      writeFileSync(join(folder, name), text)
      return connection.sendNotification('textDocument/didSave', { textDocument: { uri: uri(name) } })
    },
    ask: (method, name, position, more = {}) =>
      connection.sendRequest(`textDocument/${method}`, {
        textDocument: { uri: uri(name) },
        position,
        ...more,
      }),
  }
}

/** Splits a text with one `|` into the text without it and its position. */
export function cursorIn(marked: string): { readonly text: string; readonly position: Position } {
  const [before = '', after = ''] = marked.split('|')
  const lines = before.split('\n')
  return { text: before + after, position: { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 } }
}
