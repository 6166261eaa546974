import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Metafile } from 'esbuild'
import manifest from '../../package.json' with { type: 'json' }
import { ROOT } from './bundling.ts'

interface Bill {
  serialNumber?: string
  readonly metadata: { timestamp?: string; readonly component: { name: string; type: string } }
  components: { readonly 'bom-ref': string }[]
  dependencies: { readonly ref: string; dependsOn: string[] }[]
}

/** A package with code in the bundle. */
interface Package {
  readonly id: string
  readonly folder: string
  /** The licence that the package.json of the package names. */
  readonly license: string
}

/** Writes `sbom.cdx.json` and `third-party-licenses.txt` for the packages with code in the bundle. */
export function writeInventory(folder: string, bundles: readonly Metafile[]): void {
  const packages = packagesOf(bundles.flatMap(({ inputs }) => Object.keys(inputs)))
  writeFileSync(`${folder}/sbom.cdx.json`, billOfMaterials(packages))
  writeFileSync(`${folder}/third-party-licenses.txt`, licencesOf(packages))
}

/** The packages that contain these files, sorted; paths start at the root of the repository. */
function packagesOf(files: readonly string[]): Package[] {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [])
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${ROOT}${folder}/package.json`, 'utf8')) as {
      name: string
      version: string
      license: string
    }
    return { id: `${name}@${version}`, folder, license }
  })
}

/**
 * The SBOM of npm (CycloneDX), reduced to these packages: the lockfile has more than the bundle, and `--omit=dev` would
 * drop packages that a development dependency needs too (yaml, re2). Contains no time and no serial number, so that two
 * builds are equal.
 */
function billOfMaterials(packages: readonly Package[]): string {
  const output = execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  })
  const bill = JSON.parse(output) as Bill
  delete bill.serialNumber
  delete bill.metadata.timestamp
  // npm names the component after the folder of the repository, which may have any name.
  Object.assign(bill.metadata.component, { name: manifest.name, type: 'application' })
  const ids = new Set(packages.map(({ id }) => id))
  const [self] = bill.dependencies
  bill.components = bill.components.filter((component) => ids.has(component['bom-ref']))
  bill.dependencies = bill.dependencies
    .filter((each) => each === self || ids.has(each.ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((id) => ids.has(id)) }))
  return `${JSON.stringify(bill, undefined, 1)}\n`
}

/** The licences of all packages with code in the bundle. */
export const licencesIn = ({ inputs }: Metafile): string => licencesOf(packagesOf(Object.keys(inputs)))

/** The licences and notices of packages as one text. */
function licencesOf(packages: readonly Package[]): string {
  return packages.map((each) => `=== ${each.id}: ${licenceOf(each)}\n`).join('\n')
}

function licenceOf({ folder, license }: Package): string {
  const names = readdirSync(ROOT + folder).filter((name) => /^(license|licence|notice|copying)/i.test(name))
  if (names.length === 0) return `${license}; the package has no text of it\n`
  return names.map((name) => `${name}\n\n${readFileSync(`${ROOT}${folder}/${name}`, 'utf8')}`).join('\n')
}
