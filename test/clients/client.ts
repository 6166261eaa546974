/** What Flux and Argo CD have in common for these tests. */
export interface Client {
  /** Applies these folders of the repository, each to the namespace of its name, from now on. */
  readonly follow: (folders: readonly string[]) => Promise<void>
  /** Has it read the repository and compare the folders at once. */
  readonly look: (folders: readonly string[]) => Promise<void>
  readonly report: (folder: string) => Promise<Report>
  /** How often it has compared a folder with the cluster so far. */
  readonly comparisons: (folder: string) => number
}

/** What a client says of a folder. */
export interface Report {
  /** The id of the commit of which it speaks. */
  readonly commit: string
  /** Whether the cluster is as that commit. */
  readonly isDone: boolean
  readonly message: string
}
