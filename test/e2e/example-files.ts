import { globSync, readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { ROOT } from './cluster.ts'

/** A resource as a file has it. */
export interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: unknown
}

/** A file that a newcomer can apply. */
export interface ExampleFile {
  /** From the root of the repository. */
  readonly path: string
  /** Whether it shows a denial. */
  readonly bad: boolean
  readonly resources: readonly Manifest[]
}

/** Those of which each resource is judged by itself; local-cluster.test.ts applies the ones of `together`. */
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
