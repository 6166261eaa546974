import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { KINDS } from '../src/kinds/index.ts'
import { median, milliseconds, table } from './figures.ts'
import { manifests } from './reviews.ts'
import { bundled, folder } from './servers.ts'

const MANY = 10_000
const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0'

type Command = readonly [program: string, ...args: string[]]

/**
 * `check` of one file, and of a folder with many files in it, from the bundle that the package has; beside it kubeconform,
 * which looks at the schema alone, with our schemas and the same files.
 */
export async function check(): Promise<string> {
  const many = join(folder, 'manifests')
  mkdirSync(many)
  let count = 0
  for (let copy = 0; count < MANY; copy++) {
    for (const manifest of manifests('.', copy).slice(0, MANY - count)) {
      const metadata = { ...manifest.metadata, namespace: `team-${copy}` }
      writeFileSync(join(many, `${count++}.yaml`), stringify({ ...manifest, metadata }))
    }
  }
  const peak = 'process.on("exit",()=>process.stderr.write("\\n"+process.resourceUsage().maxRSS))'
  const ours: Command = [
    process.execPath,
    `--import=data:text/javascript,${peak}`,
    bundled('cli/main.js'),
    'check',
  ]
  const other = kubeconform()
  const commands = [
    { name: '`check`', command: ours, limits: ['250 ms', '12000 ms'] },
    ...(other === undefined
      ? []
      : [{ name: 'kubeconform, the schema alone', command: other, limits: ['', ''] }]),
  ]
  const sets = [
    { what: '1 manifest', path: join(many, '0.yaml'), runs: 9 },
    { what: `${MANY.toLocaleString('en')} manifests`, path: many, runs: 3 },
  ]
  return table(
    ['command', 'of', 'time', 'peak memory', 'goal'],
    commands.flatMap(({ name, command, limits }) =>
      sets.map(({ what, path, runs }, i) => [name, what, ...measured(command, path, runs), limits[i] ?? '']),
    ),
  )
}

/** The command line of kubeconform with our schemas; undefined where there is no Go, which builds it. */
function kubeconform(): Command | undefined {
  const { error, status } = spawnSync('go', ['install', KUBECONFORM], {
    env: { ...process.env, GOTOOLCHAIN: 'auto', GOBIN: folder },
    stdio: 'inherit',
  })
  if (error !== undefined) return undefined
  if (status !== 0) throw new Error('kubeconform was not built')
  const schemas = join(folder, 'schemas')
  mkdirSync(schemas)
  for (const { kind } of KINDS)
    copyFileSync(
      fileURLToPath(new URL(`../schemas/${kind}.json`, import.meta.url)),
      join(schemas, `${kind.toLowerCase()}.json`),
    )
  return [join(folder, 'kubeconform'), '-schema-location', join(schemas, '{{ .ResourceKind }}.json')]
}

function measured([program, ...args]: Command, path: string, runs: number): string[] {
  const taken = Array.from({ length: runs }, () => {
    const start = performance.now()
    const { status, stderr } = spawnSync(program, [...args, path], { encoding: 'utf8', maxBuffer: 2 ** 30 })
    if (status !== 0 && status !== 1) throw new Error(`${program} ended with ${status}: ${stderr}`)
    return { time: performance.now() - start, kilobytes: Number(stderr.trim().split('\n').at(-1)) }
  })
  const megabytes = median(taken.map(({ kilobytes }) => kilobytes)) / 1_024
  return [
    milliseconds(median(taken.map(({ time }) => time))),
    megabytes > 0 ? `${megabytes.toFixed(0)} MB` : '',
  ]
}
