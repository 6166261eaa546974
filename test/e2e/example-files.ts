import { globSync, readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { ROOT } from './cluster.ts'

/** A resource in a file. */
export interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: unknown
}

/** A file of examples/ that users can apply. */
export interface ExampleFile {
  /** The path from the root of the repository. */
  readonly path: string
  /** Whether the file is an example of a denial. */
  readonly bad: boolean
  readonly resources: readonly Manifest[]
}

/**
 * The example files whose resources are judged separately; local-cluster.test.ts applies those of examples/together.
 */
export function exampleFiles(): ExampleFile[] {
  const paths = globSync('examples/{,bad/}*.yaml', { cwd: ROOT }).toSorted()
  return paths.map((path) => ({
    path,
    bad: path.split('/').includes('bad'),
    resources: parseAllDocuments(readFileSync(ROOT + path, 'utf8')).map(
      (document) => document.toJS() as Manifest,
    ),
  }))
}
