import { existsSync } from 'node:fs'
import { basename, relative, resolve } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import {
  type CancellationToken,
  type Connection,
  type Diagnostic,
  type InitializeParams,
  type InitializeResult,
  DidChangeWatchedFilesNotification,
  LSPErrorCodes,
  ResponseError,
  TextDocuments,
  TextDocumentSyncKind,
} from 'vscode-languageserver'
import { TextDocument } from 'vscode-languageserver-textdocument'
import manifest from '../../../package.json' with { type: 'json' }
import { ConfigurationError } from '../../configuration/configuration-error.ts'
import { FILE_NAME, isManifest } from '../../configuration/file.ts'
import { errorMessage, type Steps } from '../../rule/index.ts'
import { readSources, withSlashes } from '../input/files.ts'
import type { ReadOptions } from '../input/documents.ts'
import { Refused } from '../input/regular-file.ts'
import type { Report } from '../output/report.ts'
import type { Judging } from '../commands/judge-document.ts'
import { CODE_ACTIONS, codeActionsAt } from './code-actions.ts'
import { completionsAt } from './completion.ts'
import { diagnosticsOf, diagnosticsOfConfiguration, notRead } from './diagnostics.ts'
import { hoverAt } from './hover.ts'
import { unquoted } from './lines.ts'
import { isFound, isIn, MOST_BYTES, pathOf, TOO_LARGE, whyNotRead } from './paths.ts'
import { definitionsOf, nameAt, rangeOf, renamed, usesOf } from './navigation.ts'
import { Workspace, type WorkspaceFile } from './workspace.ts'

/**
 * Reads the settings for judging, with the configuration file that applies to the folders. Throws an Error that
 * describes a mistake in that file.
 */
export type Configured = (folders: readonly string[]) => Promise<Judging>

/** The files that are read in the workspace folders; the editor may open other files too. */
const MANIFESTS = '**/*.{yaml,yml,json}'
/** The time in milliseconds for which files are judged before pending requests are answered. */
const SLICE = 20
/** The longest pause, in milliseconds, between a keystroke and judging the files. */
const LONGEST_PAUSE = 1_000

/** Serves an editor over a connection until it sends `exit`. */
export class LanguageServer {
  readonly #connection: Connection
  readonly #workspace: Workspace
  readonly #options: ReadOptions
  readonly #configured: Configured | undefined
  readonly #opened = new TextDocuments(TextDocument)
  /** The URIs by which the editor opened files, by path. */
  readonly #uris = new Map<string, string>()
  /** Resolved when the workspace folders are read; earlier requests wait for it. */
  readonly #read = Promise.withResolvers<undefined>()
  #isRead = false
  /** The folders of the workspace. */
  #folders: readonly string[] = []
  /** The diagnostics last sent to the editor, as JSON, by path. */
  readonly #shown = new Map<string, string>()
  /** The files that must be judged again because their findings may have changed, by path. */
  readonly #waiting = new Map<string, Waiting>()
  #judging: NodeJS.Immediate | undefined
  /** The open files with changes that are not parsed yet, by path. */
  readonly #changed = new Map<string, TextDocument>()
  #pause: NodeJS.Timeout | undefined
  /** The milliseconds that parsing the last changed files took; the pause after a keystroke is as long. */
  #cost = 0
  /** The path of the configuration file while it is invalid. */
  #wrongConfiguration: string | undefined

  constructor(connection: Connection, judging: Judging, options: ReadOptions, configured?: Configured) {
    this.#connection = connection
    this.#workspace = new Workspace(judging, options)
    this.#options = options
    this.#configured = configured
    connection.onInitialize((params) => this.#initialize(params))
    connection.onInitialized(() => this.#attempt(() => this.#readFolders()))
    connection.onDidChangeWatchedFiles(({ changes }) =>
      this.#attempt(() => this.#reread(changes.flatMap(({ uri }) => pathOf(uri) ?? []))),
    )
    connection.onCompletion(({ textDocument, position }, token) =>
      this.#in(textDocument.uri, token, (file) => completionsAt(this.#workspace, file, position)),
    )
    connection.onHover(({ textDocument, position }, token) =>
      this.#in(textDocument.uri, token, (file) => hoverAt(this.#workspace, file, position)),
    )
    connection.onDefinition(({ textDocument, position }, token) =>
      this.#in(textDocument.uri, token, (file) => {
        const name = nameAt(this.#workspace, file, position)
        return name && definitionsOf(this.#workspace, name)
      }),
    )
    connection.onReferences(({ textDocument, position, context }, token) =>
      this.#in(textDocument.uri, token, (file) => {
        const name = nameAt(this.#workspace, file, position)
        return name && usesOf(this.#workspace, name, context.includeDeclaration)
      }),
    )
    connection.onCodeAction(({ textDocument, range, context }, token) =>
      this.#in(textDocument.uri, token, (file) => codeActionsAt(this.#workspace, file, { range, context })),
    )
    connection.onPrepareRename(({ textDocument, position }, token) =>
      this.#in(textDocument.uri, token, (file) => {
        const name = nameAt(this.#workspace, file, position)
        return name && { range: unquoted(file.text, rangeOf(name)), placeholder: name.name }
      }),
    )
    connection.onRenameRequest(({ textDocument, position, newName }, token) =>
      this.#in(textDocument.uri, token, (file) => {
        const name = nameAt(this.#workspace, file, position)
        if (name === undefined) return undefined
        if (!/^[\w.-]+$/.test(newName))
          throw new ResponseError(
            LSPErrorCodes.RequestFailed,
            `'${newName}' cannot be a name: write letters, digits, '-' and '.'`,
          )
        return renamed(this.#workspace, name, newName)
      }),
    )
    this.#opened.onDidOpen(({ document }) => {
      const path = pathOf(document.uri)
      if (path !== undefined) this.#showBy(document.uri, path)
    })
    this.#opened.onDidChangeContent(({ document }) => this.#change(document))
    // Rereads a saved configuration file here, because not all editors report changes on the disk.
    this.#opened.onDidSave(({ document }) => {
      const path = pathOf(document.uri)
      if (path !== undefined && isConfiguration(path)) this.#attempt(() => this.#reread([path]))
    })
    this.#opened.onDidClose(({ document }) => {
      const path = pathOf(document.uri)
      if (path === undefined) return
      this.#showBy(undefined, path)
      this.#attempt(() => this.#reread([path]))
    })
    this.#opened.listen(connection)
    connection.listen()
  }

  #initialize({ workspaceFolders }: InitializeParams): InitializeResult {
    this.#folders = (workspaceFolders ?? []).flatMap(({ uri }) => pathOf(uri) ?? [])
    return {
      serverInfo: { name: manifest.name, version: manifest.version },
      capabilities: {
        textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
        completionProvider: { triggerCharacters: [' ', ':', '-'] },
        hoverProvider: true,
        codeActionProvider: { codeActionKinds: CODE_ACTIONS },
        definitionProvider: true,
        referencesProvider: true,
        renameProvider: { prepareProvider: true },
      },
    }
  }

  /** Reads the folders, and asks the editor to report changes in them. */
  async #readFolders(): Promise<void> {
    // An editor that cannot watch files refuses this request; then it reports only changes of its open files.
    this.#connection.client
      .register(DidChangeWatchedFilesNotification.type, { watchers: [{ globPattern: MANIFESTS }] })
      .catch(() => undefined)
    await this.#readConfiguration()
    for (const folder of this.#folders) await this.#readFrom(folder)
    this.#isRead = true
    this.#read.resolve(undefined)
    this.#judgeAll()
  }

  /** Reads the configuration file. If it is invalid, shows the problems and keeps the previous settings. */
  async #readConfiguration(): Promise<void> {
    const before = this.#wrongConfiguration
    this.#wrongConfiguration = undefined
    try {
      if (this.#configured !== undefined) this.#workspace.judging = await this.#configured(this.#folders)
    } catch (error) {
      if (error instanceof ConfigurationError) {
        this.#wrongConfiguration = resolve(error.file)
        this.#show(this.#wrongConfiguration, diagnosticsOfConfiguration(error))
      } else this.#connection.window.showErrorMessage(errorMessage(error))
    }
    if (before !== undefined && before !== this.#wrongConfiguration) this.#show(before, [])
  }

  /** Reads the files in a folder, following links. */
  async #readFrom(path: string): Promise<void> {
    const refused = new Map<string, string>()
    const isLeftOut = (name: string) => {
      const path = resolve(name)
      if (this.#isExcluded(path)) return true
      const why = whyNotRead(path, this.#folders)
      if (why !== undefined) refused.set(path, why)
      return why !== undefined
    }
    for await (const source of readSources(path, isLeftOut)) {
      const found = resolve(source.name)
      if (this.#uris.has(found)) continue
      if ('text' in source) this.#take(found, TextDocument.create(this.#uriOf(found), 'yaml', 0, source.text))
      else this.#show(found, notRead(source.problem))
    }
    for (const [found, why] of refused) this.#show(found, notRead(why))
  }

  /** Reads files that changed on the disk; for open files, the text in the editor is used. */
  async #reread(paths: readonly string[]): Promise<void> {
    if (paths.some(isConfiguration)) await this.#readConfiguration()
    for (const path of paths) {
      if (isConfiguration(path) || this.#uris.has(path)) continue
      this.#changed.delete(path)
      this.#workspace.remove(path)
      this.#show(path, [])
      if (existsSync(path) && isFound(path, this.#folders)) await this.#readFrom(path)
    }
    this.#judgeAll()
  }

  /** Records a change of an open file; quick successive changes are judged once. */
  #change(text: TextDocument): void {
    const path = pathOf(text.uri)
    if (path === undefined || this.#isExcluded(path)) return
    this.#changed.set(path, text)
    clearTimeout(this.#pause)
    this.#pause = setTimeout(() => this.#attempt(() => this.#settle()), Math.min(this.#cost, LONGEST_PAUSE))
  }

  /** Parses the changed files, and queues all files whose findings may have changed. */
  #settle(): void {
    clearTimeout(this.#pause)
    const changed = [...this.#changed]
    this.#changed.clear()
    if (changed.length === 0) return
    const start = performance.now()
    for (const [path, text] of changed) this.#put(path, text)
    this.#cost = performance.now() - start
    this.#judgeLater()
  }

  #put(path: string, text: TextDocument): void {
    if (isConfiguration(path) && !isManifest(text.getText())) return
    const before = this.#workspace.file(path)
    if (text.getText().length > MOST_BYTES) {
      this.#workspace.remove(path)
      this.#show(path, notRead(TOO_LARGE))
      return
    }
    const file = this.#take(path, text)
    // Until all files are read, references to objects in unread files would cause findings.
    if (!this.#isRead) return
    if (file !== undefined) this.#wait(path)
    const touched = new Set(
      [file, before].flatMap((each) => (each ? [...this.#workspace.namespacesOf(each)] : [])),
    )
    for (const other of this.#workspace.files) {
      const isTouched = [...this.#workspace.namespacesOf(other)].some((namespace) => touched.has(namespace))
      if (other !== file && isTouched) this.#wait(other.path)
    }
  }

  #judgeAll(): void {
    for (const { path } of this.#workspace.files) this.#wait(path)
    this.#judgeLater()
  }

  /** Stores a file in the workspace; if the file is too large, shows a diagnostic and returns undefined. */
  #take(path: string, text: TextDocument): WorkspaceFile | undefined {
    try {
      return this.#workspace.put({ path, name: this.#nameOf(path), text })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      this.#waiting.delete(path)
      this.#show(path, notRead(error.message))
      return undefined
    }
  }

  /** Queues a file to be judged again; a judgement of it that is not finished is dropped. */
  #wait(path: string): void {
    this.#waiting.set(path, { steps: undefined, spentMs: 0 })
  }

  /** Judges the queued files, in slices between which requests are answered. */
  #judgeLater(): void {
    this.#judging ??= setImmediate(() => {
      this.#judging = undefined
      const until = performance.now() + SLICE
      while (this.#waiting.size > 0 && performance.now() < until) this.#attempt(() => this.#judgeNext(until))
      if (this.#waiting.size > 0) this.#judgeLater()
    })
  }

  /**
   * Judges the queued file that has taken the least time so far, until it is done or `performance.now()` reaches
   * `until`, so that no file waits for a slow one.
   */
  #judgeNext(until: number): void {
    let next: readonly [path: string, waiting: Waiting] | undefined
    for (const each of this.#waiting) {
      if (next === undefined || each[1].spentMs < next[1].spentMs) next = each
      if (next[1].spentMs === 0) break
    }
    if (next === undefined) return
    const [path, waiting] = next
    const file = this.#workspace.file(path)
    const begun = performance.now()
    let isDone = true
    try {
      if (file === undefined) return
      const steps = (waiting.steps ??= this.#workspace.findingIn(file))
      let step = steps.next()
      while (step.done !== true && performance.now() < until) step = steps.next()
      isDone = step.done === true
      if (step.done === true) this.#show(path, diagnosticsOf(this.#workspace, file, step.value))
    } finally {
      if (isDone) this.#waiting.delete(path)
      waiting.spentMs += performance.now() - begun
    }
  }

  /** Sends the diagnostics of a file if they differ from those shown in the editor. */
  #show(path: string, diagnostics: Diagnostic[]): void {
    const text = JSON.stringify(diagnostics)
    if ((this.#shown.get(path) ?? '[]') === text) return
    this.#shown.set(path, text)
    void this.#connection.sendDiagnostics({ uri: this.#uriOf(path), diagnostics })
  }

  /** The URI of a file: for an open file the one that the editor uses. */
  #uriOf(path: string): string {
    return this.#uris.get(path) ?? pathToFileURL(path).href
  }

  /** Records the URI by which the editor opened a file, undefined when it closed it; moves the diagnostics to it. */
  #showBy(uri: string | undefined, path: string): void {
    const shown = JSON.parse(this.#shown.get(path) ?? '[]') as Diagnostic[]
    const isMoved = this.#uriOf(path) !== (uri ?? pathToFileURL(path).href)
    if (isMoved) this.#show(path, [])
    if (uri === undefined) this.#uris.delete(path)
    else this.#uris.set(path, uri)
    if (isMoved) this.#show(path, shown)
  }

  /** The name of a file in findings: its path from the only workspace folder, otherwise the whole path. */
  #nameOf(path: string): string {
    const [folder, ...others] = this.#folders
    const isInside = folder !== undefined && others.length === 0 && isIn(folder, path)
    return withSlashes(isInside ? relative(folder, path) : path)
  }

  /** Whether `--exclude` excludes a file or folder by its path in a workspace folder. */
  #isExcluded(path: string): boolean {
    return this.#folders.some(
      (folder) => path !== folder && isIn(folder, path) && this.#options.excluded(relative(folder, path)),
    )
  }

  /** Runs work for which no request waits: an error is logged, and does not stop the server. */
  #attempt(work: () => void | Promise<void>): void {
    const done = (async () => work())()
    done.catch((error: unknown) => this.#connection.console.error(errorMessage(error)))
  }

  /** Answers a request about a file; null when there is no answer. The editor can cancel the request while it waits. */
  async #in<T>(
    uri: string,
    token: CancellationToken,
    answer: (file: WorkspaceFile) => T | undefined,
  ): Promise<T | null> {
    await this.#read.promise
    await turn()
    if (token.isCancellationRequested)
      throw new ResponseError(LSPErrorCodes.RequestCancelled, 'the editor no longer wants to know')
    this.#settle()
    const path = pathOf(uri)
    const file = path === undefined ? undefined : this.#workspace.file(path)
    return (file && answer(file)) ?? null
  }
}

/** The state of judging a queued file, and its cost so far. */
interface Waiting {
  steps: Steps<Report> | undefined
  spentMs: number
}

const isConfiguration = (path: string): boolean => basename(path) === FILE_NAME
