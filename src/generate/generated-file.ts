export interface GeneratedFile {
  /** From the top of the repository. */
  readonly path: string
  readonly text: string
}
