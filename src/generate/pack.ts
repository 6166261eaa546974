import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import manifest from '../../package.json' with { type: 'json' }
import { writeInventory } from './bundled-packages.ts'
import { bundled, bundledModules, OLDEST_NODE, PROGRAMS, ROOT } from './bundling.ts'
import { writePages } from './pages.ts'

/** Files of the package besides programs and library, at the paths that the documentation names. */
const FILES = ['LICENSE', ...manifest.files.filter((path) => path !== 'dist')]

const LIBRARY = 'src/library/index.ts'

/** The fields that are copied from the package.json of the repository. */
const SHARED = ['name', 'version', 'description', 'keywords', 'license', 'homepage', 'repository', 'bugs']

const MANIFEST = {
  ...Object.fromEntries(Object.entries(manifest).filter(([field]) => SHARED.includes(field))),
  type: 'module',
  engines: { node: `>=${OLDEST_NODE}` },
  bin: {
    ...Object.fromEntries(Object.keys(manifest.bin).map((name) => [name, 'cli/main.js'])),
    [`${manifest.name}-server`]: 'server/main.js',
  },
  man: [`./docs/${manifest.name}.1`],
  exports: {
    '.': { types: './library/index.d.ts', default: './library/index.js' },
    './releases/*.json': './releases/*.json',
    './schemas/*.json': './schemas/*.json',
    './package.json': './package.json',
  },
}

/** Writes the package as a folder and a tarball; returns the path of the tarball. */
async function pack(artifacts: string): Promise<string> {
  const folder = join(artifacts, 'package')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const programs = await bundledModules(folder, PROGRAMS)
  const pages = await writePages(`${folder}/pages`)
  // The library must also run in browsers: with this target esbuild refuses Node's modules.
  await bundled({ entryPoints: [LIBRARY], outdir: `${folder}/library`, format: 'esm', platform: 'browser' })
  for (const path of FILES) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'library/index.d.ts'), declarationsOf(LIBRARY))
  writeFileSync(join(folder, 'README.md'), readme())
  writeInventory(folder, [programs, ...pages])
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(MANIFEST, undefined, 2)}\n`)
  const args = ['pack', folder, '--pack-destination', artifacts, '--json']
  const packed = execFileSync('npm', args, { encoding: 'utf8', shell: process.platform === 'win32' })
  const [{ filename, size }] = JSON.parse(packed) as [{ filename: string; size: number }]
  process.stdout.write(`${join(artifacts, filename)}  ${(size / 1e6).toFixed(2)} MB\n`)
  return filename
}

/** The README of the package, with links relative to the root of the package. */
const readme = (): string =>
  readFileSync(join(ROOT, 'docs/package.md'), 'utf8').replaceAll(
    /\]\((\.\/|[a-z]+:|#)?/g,
    (link, start = './') => (start === './' ? '](docs/' : link),
  )

/** The type declarations of a module; they are complete, because the module imports no types. */
function declarationsOf(path: string): string {
  const source = readFileSync(join(ROOT, path), 'utf8')
  const { outputText, diagnostics = [] } = ts.transpileDeclaration(source, {
    fileName: path,
    reportDiagnostics: true,
    compilerOptions: { isolatedDeclarations: true },
  })
  if (diagnostics.length > 0) throw new Error(ts.formatDiagnostics(diagnostics, ts.createCompilerHost({})))
  return outputText
}

await pack(process.argv[2] ?? join(ROOT, 'artifacts'))
