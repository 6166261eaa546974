import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { ROOT } from './bundling.ts'

const CHECKSUM = /(uri: \S+\/([^\s/]+)\s+sha256: ')0+/g

const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex')

/** The Krew manifest of the kubectl plugin, for archives in the folder `artifacts` to be released in `repository`. */
const krewManifest = (artifacts: string, repository: string): string =>
  readFileSync(join(ROOT, 'deploy/krew/vmcp-admission.yaml'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replaceAll('OWNER/vmcp-admission', repository)
    .replaceAll('0.0.0', manifest.version)
    .replace(CHECKSUM, (_, before: string, file: string) => before + sha256(join(artifacts, file)))

const [artifacts, repository] = process.argv.slice(2)
if (artifacts === undefined || repository === undefined)
  throw new Error('usage: krew.ts ARTIFACTS OWNER/REPOSITORY')
process.stdout.write(krewManifest(artifacts, repository))
