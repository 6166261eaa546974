/** The operations of Flux and Argo CD that the tests use. */
export interface Client {
  /** From now on applies each of these folders to the namespace with the folder's name. */
  readonly follow: (folders: readonly string[]) => Promise<void>
  /** Makes the client read the repository and compare the folders now. */
  readonly look: (folders: readonly string[]) => Promise<void>
  readonly report: (folder: string) => Promise<Report>
  /** The number of comparisons of a folder with the cluster so far. */
  readonly comparisons: (folder: string) => number
}

/** The status that a client reports for a folder. */
export interface Report {
  /** The id of the commit to which the status belongs. */
  readonly commit: string
  /** Whether the cluster equals that commit. */
  readonly isDone: boolean
  readonly message: string
}
