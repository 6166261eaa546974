/**
 * Records how the real kubectl reads the rows of yaml-scalars.json in this folder. To add a row, add its `yaml` (the
 * text of a value) or its `file` (the text of a whole file of ConfigMaps), and run `npx node
 * test/golden/record-yaml-scalars.ts`. It uses kubectl from KUBEBUILDER_ASSETS, or else from the PATH. No cluster is
 * needed: kubectl only asks which kinds exist, and this script answers.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** How kubectl reads a text: the JSON of the value (of a file: a list of its documents), or an error. */
export type Outcome = { json: unknown } | { error: true }
export type Input = { yaml: string } | { file: string }
export interface Golden {
  kubectl: string
  rows: (Input & Outcome)[]
}

export const goldenFile = new URL('yaml-scalars.json', import.meta.url)

/** The text of the file for a row. For a value, this is a ConfigMap with the value in its field `v`. */
export function rowText(row: Input): string {
  return 'file' in row ? row.file : `${header('value')}v: ${row.yaml}\n`
}

const header = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`

/** A document of kubectl's output without the namespace that kubectl adds. */
export function withoutNamespace(document: unknown): unknown {
  const { metadata, ...rest } = document as { metadata: Record<string, unknown> }
  const kept = Object.entries(metadata).filter(([name]) => name !== 'namespace')
  return { ...rest, metadata: Object.fromEntries(kept) }
}

/**
 * Runs one kubectl for all rows, each in a file of its own that is followed by a marker file. Rejects when kubectl does
 * not exist.
 */
export async function runKubectl(kubectl: string, rows: readonly Input[]): Promise<Outcome[]> {
  const directory = await mkdtemp(join(tmpdir(), 'yaml-scalars-'))
  const server = createServer((request, response) => {
    const answer = discovery[new URL(request.url ?? '/', 'http://localhost').pathname]
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? {}))
  })
  try {
    await Promise.all(
      rows.flatMap((row, index) => [
        writeFile(join(directory, `${fileName(index)}a.yaml`), rowText(row)),
        writeFile(join(directory, `${fileName(index)}b.yaml`), header(`end-${index}`)),
      ]),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const { stdout, stderr } = await kubectlCreate(kubectl, directory, port)
    return outcomes(rows, stdout, stderr)
  } finally {
    server.close()
    await rm(directory, { recursive: true })
  }
}

const fileName = (index: number) => String(index).padStart(4, '0')

/** The answers to kubectl's API discovery. */
const discovery: Record<string, object> = {
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
  '/api/v1': {
    kind: 'APIResourceList',
    groupVersion: 'v1',
    resources: [
      { name: 'configmaps', singularName: '', namespaced: true, kind: 'ConfigMap', verbs: ['create', 'get'] },
    ],
  },
}

/** Runs `kubectl create` as a dry run; resolves even if it refuses some of the files. */
async function kubectlCreate(
  kubectl: string,
  directory: string,
  port: number,
): Promise<{ stdout: string; stderr: string }> {
  const create = ['create', '--dry-run=client', '--validate=false', '-o', 'json', '-f', directory]
  const connection = [
    '--kubeconfig=/dev/null',
    `--server=http://127.0.0.1:${port}`,
    `--cache-dir=${directory}`,
  ]
  try {
    return await promisify(execFile)(kubectl, [...create, ...connection], { maxBuffer: 2 ** 28 })
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string }
    if (code !== 1 || stdout === '') throw error
    return { stdout, stderr }
  }
}

function outcomes(rows: readonly Input[], stdout: string, stderr: string): Outcome[] {
  const documents = stdout
    .split(/(?<=^\})\n(?=\{)/m)
    .map((text) => JSON.parse(text) as { metadata: { name: string } })
  let position = 0
  return rows.map((row, index) => {
    const end = documents.findIndex((document) => document.metadata.name === `end-${index}`)
    if (end < position) throw new Error(`kubectl did not get as far as row ${index}: ${stderr}`)
    const own = documents.slice(position, end)
    position = end + 1
    if (stderr.includes(`${fileName(index)}a.yaml`)) return { error: true }
    const [first] = own
    if ('file' in row) return { json: own.map(withoutNamespace) }
    return { json: (first as unknown as { v: unknown }).v }
  })
}

async function record(): Promise<void> {
  const assets = process.env.KUBEBUILDER_ASSETS
  const kubectl = assets ? join(assets, 'kubectl') : 'kubectl'
  const golden = JSON.parse(await readFile(goldenFile, 'utf8')) as { rows: Input[] }
  const inputs = golden.rows.map((row): Input => ('file' in row ? { file: row.file } : { yaml: row.yaml }))
  const { stdout } = await promisify(execFile)(kubectl, ['version', '--client', '-o', 'json'])
  const version = (JSON.parse(stdout) as { clientVersion: { gitVersion: string } }).clientVersion.gitVersion
  const results = await runKubectl(kubectl, inputs)
  const rows = inputs.map((input, index) => JSON.stringify({ ...input, ...results[index] }))
  await writeFile(
    goldenFile,
    `{\n"kubectl": ${JSON.stringify(version)},\n"rows": [\n${rows.join(',\n')}\n]\n}\n`,
  )
  process.stderr.write(`recorded ${rows.length} rows from kubectl ${version}\n`)
}

if (import.meta.main)
  record().catch((error: unknown) => {
    const absent = (error as { code?: unknown }).code === 'ENOENT'
    const text = absent ? 'kubectl was not found: set KUBEBUILDER_ASSETS, or put it on PATH' : String(error)
    process.stderr.write(`${text}\n`)
    process.exitCode = 1
  })
