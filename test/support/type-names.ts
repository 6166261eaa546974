// Reports exported type names that several files of src declare: each name must have one meaning. Run by `npm run
// names`.
import { globSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Names that two files may declare, with the reason. */
const ALLOWED: ReadonlyMap<string, string> = new Map(
  ['Finding', 'PatchOperation', 'Placeholder', 'Release'].map((name) => [
    name,
    'the public type of the package, in src/library, is named for its users',
  ]),
)

const isExported = (node: ts.HasModifiers): boolean =>
  node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false

/** The exported interfaces, type aliases and classes that a file declares itself. */
function declaredIn(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest)
  return source.statements.flatMap((node) =>
    (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)) &&
    isExported(node) &&
    node.name !== undefined
      ? [node.name.text]
      : [],
  )
}

const declared = globSync('src/**/*.ts', { cwd: ROOT })
  .map((file) => `${ROOT}${file}`)
  .flatMap((file) => [...new Set(declaredIn(file))].map((name) => ({ name, file: relative(ROOT, file) })))
const several = [...Map.groupBy(declared, ({ name }) => name)].filter(([, files]) => files.length > 1)
const problems = [
  ...several
    .filter(([name]) => !ALLOWED.has(name))
    .map(([name, files]) => `${name}: ${files.map(({ file }) => file).join(', ')}`),
  ...[...ALLOWED.keys()]
    .filter((name) => !several.some(([each]) => each === name))
    .map((name) => `${name}: is allowed in several files, and declared in one`),
]
for (const problem of problems.toSorted()) process.stderr.write(`${problem}\n`)
if (problems.length > 0) {
  process.stderr.write('rename the type to what it is, or do not export it (test/support/type-names.ts)\n')
  process.exitCode = 1
}
