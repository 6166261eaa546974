import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { DEFAULT_API_GROUP, KINDS } from '../kinds/index.ts'
import { releaseOf } from '../release/index.ts'

const RELEASES = fileURLToPath(new URL('../../releases/', import.meta.url))

/**
 * Adds an operator release to `releases/` (`npm run add-release -- 0.44.0 FOLDER SOURCE`): FOLDER contains its
 * CustomResourceDefinitions as YAML, SOURCE says where they come from. Stores only those parts of the CRDs that this
 * program reads.
 */
function addRelease([version = '', folder = '', source = '']: readonly string[]): void {
  const minor = /^(\d+\.\d+)\.\d+$/.exec(version)?.[1]
  if (minor === undefined || folder === '' || source === '')
    throw new Error('usage: npm run add-release -- VERSION FOLDER SOURCE, as in 0.44.0 ./crds https://…')
  const files = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name))
  const crds = files
    .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), 'utf8')))
    .map((document) => document.toJS() as unknown)
  const release = releaseOf(crds, DEFAULT_API_GROUP, version)
  const lacking = KINDS.map(({ kind }) => kind).filter((kind) => release?.schemas.has(kind) !== true)
  if (release === undefined || lacking.length > 0)
    throw new Error(`${folder} lacks the CRD of ${lacking.join(', ')}`)
  const schemas = Object.fromEntries(KINDS.map(({ kind }) => [kind, release.schemas.get(kind)]))
  mkdirSync(RELEASES, { recursive: true })
  writeFileSync(join(RELEASES, `${minor}.json`), `${JSON.stringify({ version, source, schemas })}\n`)
}

addRelease(process.argv.slice(2))
