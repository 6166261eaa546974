import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'

/** Files with the CRDs of the chart's objects for other operators, by Go module. */
const CRDS_OF_OTHERS = [
  ['github.com/cert-manager/cert-manager@v1.21.2', 'deploy/crds/cert-manager.io_certificates.yaml'],
  [
    'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
] as const

interface Definition {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: object
}

/** The served versions of these CRDs, without their labels, which contain templates. Needs Go, which CI has. */
export function crdsOfOthers(): readonly Definition[] | { readonly missing: string } {
  const definitions: Definition[] = []
  for (const [module, ...files] of CRDS_OF_OTHERS) {
    const { status, stdout, stderr } = spawnSync('go', ['mod', 'download', '-json', module], {
      encoding: 'utf8',
      cwd: tmpdir(),
    })
    if (status !== 0) {
      if (process.env.CI === 'true') throw new Error(`${module}: ${stderr}${stdout}`)
      return { missing: `go mod download ${module} failed` }
    }
    const { Dir } = JSON.parse(stdout) as { Dir: string }
    for (const file of files) {
      const { apiVersion, kind, metadata, spec } = parse(readFileSync(join(Dir, file), 'utf8')) as Definition
      definitions.push({ apiVersion, kind, metadata: { name: metadata.name }, spec })
    }
  }
  return definitions
}
