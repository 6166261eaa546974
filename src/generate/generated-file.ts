export interface GeneratedFile {
  /** The path from the top of the repository. */
  readonly path: string
  readonly text: string
}
