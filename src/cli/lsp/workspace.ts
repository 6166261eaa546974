/** The files of a workspace, which are judged together. */
import { TextDocument } from 'vscode-languageserver-textdocument'
import { namespaceOf, stateOf } from '../../documents/index.ts'
import type { ClusterState } from '../../state/index.ts'
import { atOnce, jsonKey, type Segment, type Steps } from '../../rule/index.ts'

import { judgingDocument, type Judging } from '../commands/judge-document.ts'
import { judgeIn } from '../judge-in.ts'
import type { ReadOptions } from '../input/documents.ts'
import { documentsIn } from '../input/texts.ts'
import { withoutPatches } from '../input/kustomize.ts'
import type { FileDocument } from '../input/load.ts'
import { type Allowance, newAllowance, take } from '../input/regular-file.ts'
import {
  IN_CLUSTER,
  type Located,
  openReport,
  type Report,
  type GivenSubject,
  type Unread,
} from '../output/report.ts'
import { occurrencesIn, type Occurrence } from './symbols.ts'

/** A file, and the documents parsed from it. */
export interface WorkspaceFile {
  /** The local path of the file, which identifies it. */
  readonly path: string
  /** The name of the file in findings. */
  readonly name: string
  readonly text: TextDocument
  readonly documents: readonly FileDocument[]
  readonly unread: readonly Unread[]
}

/** A name of an object, an upstream provider or a key in a file, with its place. */
export interface PlacedOccurrence extends Occurrence {
  readonly file: WorkspaceFile
  readonly document: FileDocument['document']
}

export class Workspace {
  #judging: Judging
  readonly #options: ReadOptions
  /** The files by path. */
  readonly #files = new Map<string, WorkspaceFile>()
  /** By path, the numbers of bytes and of YAML and JSON separators in a file; the sums of all files are limited. */
  readonly #sizes = new Map<string, Allowance>()
  readonly #left = newAllowance()
  readonly #occurrences = new WeakMap<WorkspaceFile, readonly PlacedOccurrence[]>()
  #world: World | undefined

  constructor(judging: Judging, options: ReadOptions) {
    this.#judging = judging
    this.#options = options
  }

  get judging(): Judging {
    return this.#judging
  }

  /** Changes the settings; then every file is judged again. */
  set judging(judging: Judging) {
    this.#judging = judging
    this.#world = undefined
  }

  /**
   * Stores a file, replacing the one with the same path. Throws Refused when all files together are too large; the old
   * file is then removed.
   */
  put(given: Pick<WorkspaceFile, 'path' | 'name' | 'text'>): WorkspaceFile {
    const { path, name, text } = given
    this.remove(path)
    this.#sizes.set(path, take(this.#left, Buffer.from(text.getText())))
    const file = { ...given, ...documentsIn(name, text.getText(), this.#options.filled) }
    this.#files.set(path, file)
    this.#world = undefined
    return file
  }

  remove(path: string): void {
    const size = this.#sizes.get(path)
    if (size !== undefined) {
      this.#left.bytes += size.bytes
      this.#left.marks += size.marks
      this.#sizes.delete(path)
    }
    this.#files.delete(path)
    this.#world = undefined
  }

  file(path: string): WorkspaceFile | undefined {
    return this.#files.get(path)
  }

  /** The file with this name in findings. */
  fileNamed(name: string): WorkspaceFile | undefined {
    return this.#now.named.get(name)
  }

  get files(): Iterable<WorkspaceFile> {
    return this.#files.values()
  }

  /** A cluster state that consists of the objects of all files. */
  get state(): ClusterState {
    return this.#now.state
  }

  /** The findings that a file would have with this text, judged together with the objects of the other files. */
  findingsWith(file: WorkspaceFile, text: string): Report {
    const { documents } = documentsIn(file.name, text, this.#options.filled)
    const { judged } = this.#now
    const isJudged = file.documents.map(({ document }) => judged.has(document))
    return atOnce(
      this.#judge(
        file,
        documents.filter((_, i) => isJudged[i]),
      ),
    )
  }

  /** The findings of a file, judged together with the objects of the other files. */
  findingsIn(file: WorkspaceFile): Report {
    return atOnce(this.findingIn(file))
  }

  /** The findings of a file, computed in steps, so that the language server can answer requests between two steps. */
  *findingIn(file: WorkspaceFile): Steps<Report> {
    const { judged, reports } = this.#now
    const known = reports.get(file)
    if (known !== undefined) return known
    const report = yield* this.#judge(
      file,
      file.documents.filter(({ document }) => judged.has(document)),
    )
    reports.set(file, report)
    return report
  }

  *#judge(file: WorkspaceFile, documents: readonly FileDocument[]): Steps<Report> {
    const { state, patches } = this.#now
    const placeOf = ({ kind, namespace, name }: GivenSubject, at: readonly Segment[]) => {
      const found = this.find(kind, namespace, name)
      if (found === undefined) return IN_CLUSTER
      return { file: found.file.name, ...found.document.locate(at.map(jsonKey), 'key') }
    }
    const beside = { judge: judgeIn(this.judging, state), placeOf }
    const report = openReport({
      files: [file.name],
      notes: patches.filter((note) => note.file === file.name),
      unread: [...file.unread],
    })
    const { judging } = this
    for (const { document } of documents) {
      yield* judgingDocument(file.name, document, judging, beside, report)
      yield
    }
    return report
  }

  /** The namespaces of the objects in a file; a change of the file can affect findings in all these namespaces. */
  namespacesOf({ documents }: WorkspaceFile): Set<unknown> {
    return new Set(documents.map(({ document }) => namespaceOf(document.value, this.judging)))
  }

  /** All names of objects, upstream providers and keys in a file. */
  occurrencesIn(file: WorkspaceFile): readonly PlacedOccurrence[] {
    let found = this.#occurrences.get(file)
    if (found === undefined) {
      found = file.documents.flatMap(({ document }) =>
        occurrencesIn(document.value, this.judging).map((each) => ({ ...each, file, document })),
      )
      this.#occurrences.set(file, found)
    }
    return found
  }

  /** All occurrences, in all files, of the object, upstream provider or key that the symbol identifies. */
  occurrencesOf(symbol: string): readonly PlacedOccurrence[] {
    const world = this.#now
    world.bySymbol ??= Map.groupBy(
      world.files.flatMap((file) => this.occurrencesIn(file)),
      (each) => each.symbol,
    )
    return world.bySymbol.get(symbol) ?? []
  }

  /** The place of an object, of its last copy; undefined when no file contains it. */
  find(kind: string, namespace: string, name: string): PlacedOccurrence | undefined {
    const { judged } = this.#now
    return this.occurrencesOf(JSON.stringify([namespace, kind, name])).findLast(
      ({ role, document }) => role === 'definition' && judged.has(document),
    )
  }

  get #now(): World {
    if (this.#world === undefined) {
      const files = Array.from(this.#files.values(), (file) => [orderOf(file), file] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([, file]) => file)
      const { documents, patches } = withoutPatches(files.flatMap(({ documents }) => documents))
      const state = stateOf(
        documents.map(({ document }) => document.value),
        this.judging,
      )
      this.#world = {
        files,
        state,
        judged: new Set(documents.map(({ document }) => document)),
        patches,
        named: new Map(files.map((file) => [file.name, file])),
        reports: new Map(),
      }
    }
    return this.#world
  }
}

/** Sorts files in the order in which a folder is read; of copies of an object the last one counts. */
const orderOf = ({ name }: WorkspaceFile): string => name.replaceAll('/', '\0')

interface World {
  /** The files in the order of their names. */
  readonly files: readonly WorkspaceFile[]
  readonly state: ClusterState
  /** The documents that are judged: all except patches. */
  readonly judged: ReadonlySet<FileDocument['document']>
  readonly patches: readonly Located[]
  readonly named: ReadonlyMap<string, WorkspaceFile>
  /** The findings of the files that were judged since the last change. */
  readonly reports: Map<WorkspaceFile, Report>
  /** All occurrences of names in all files, by symbol; computed on demand. */
  bySymbol?: ReadonlyMap<string, readonly PlacedOccurrence[]>
}
