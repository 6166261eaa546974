import { readdirSync, readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { resourceOf, reviewOf } from '../test/support/review.ts'

const EXAMPLES = new URL('../examples/', import.meta.url)
/** Copies of each manifest in examples/, each with hosts of its own. */
const COPIES = 8
/** Copies of each manifest in examples/bad: about one review in eight is a denial, more than any cluster sees. */
const BAD_COPIES = 3

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: unknown
}

/** The manifests in the files of a folder, with other hosts in each copy. */
export function manifests(folder: '.' | 'bad', copy: number): Manifest[] {
  const files = readdirSync(new URL(`${folder}/`, EXAMPLES)).filter((name) => name.endsWith('.yaml'))
  return files.flatMap((file) => {
    const text = readFileSync(new URL(`${folder}/${file}`, EXAMPLES), 'utf8')
    const own = text.replaceAll('example.com', `team-${copy}.example.com`)
    return parseAllDocuments(own).map((document) => document.toJS() as Manifest)
  })
}

/** As the API server holds it: with what it and clients add to the metadata. */
function stored({ kind, metadata, spec }: Manifest, name: string, generation: number) {
  const clients = ['kubectl-client-side-apply', 'argocd-controller', 'vmcp-operator']
  return resourceOf(kind, spec, {
    ...metadata,
    name,
    uid: '0f1d4c1e-7d0f-4a0e-9c55-0c7c9f5b2a11',
    resourceVersion: String(123_456 + generation),
    generation,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'platform' },
    annotations: {
      'example.com/owner': 'team-platform@example.com',
      'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ kind, metadata, spec }),
    },
    managedFields: clients.map((manager) => ({
      manager,
      operation: 'Update',
      apiVersion: 'toolhive.stacklok.dev/v1beta1',
      time: '2026-01-01T00:00:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:metadata': { 'f:annotations': { '.': {}, 'f:example.com/owner': {} }, 'f:labels': { '.': {} } },
        'f:spec': { '.': {}, 'f:type': {}, 'f:description': {}, 'f:groupRef': { '.': {}, 'f:name': {} } },
      },
    })),
  })
}

function uid(i: number): string {
  return `705ab4f5-6393-11e8-b7cc-${String(i).padStart(12, '0')}`
}

/** Over 200 reviews, no two alike: every kind; a third of the good ones are updates, each with another old object. */
export function mixedReviews(): string[] {
  const good = Array.from({ length: COPIES }, (_, copy) => manifests('.', copy))
  const bad = Array.from({ length: BAD_COPIES }, (_, copy) => manifests('bad', copy)).flat()
  const reviews = good.flatMap((all, copy) =>
    all.map((manifest, i) => {
      const name = `${manifest.metadata.name}-${copy}`
      const before = good[(copy + 1) % COPIES]?.[i]
      const isUpdate = (i + copy) % 3 === 0 && before !== undefined
      return reviewOf(stored(manifest, name, 2), {
        name,
        ...(isUpdate && { operation: 'UPDATE', oldObject: stored(before, name, 1) }),
      })
    }),
  )
  for (const [i, manifest] of bad.entries()) {
    const { name } = manifest.metadata
    // Spread evenly, so that every turn of the bench meets some of them.
    reviews.splice((i * reviews.length) / bad.length, 0, reviewOf(stored(manifest, name, 1), { name }))
  }
  return reviews.map((review, i) => {
    const { request, ...rest } = review as { request: object }
    return JSON.stringify({ ...rest, request: { ...request, uid: uid(i) } })
  })
}

/** 50 reviews of about 25 KB: 155 role mappings, half of them with a matcher, all different. */
export function roleMappingReviews(): string[] {
  return Array.from({ length: 400 }, (_, i) => {
    const roleMappings = Array.from({ length: 155 }, (_, j) => ({
      roleArn: `arn:aws:iam::123456789012:role/platform-engineering/team-${i}-${j}`,
      priority: j,
      ...(j % 2 === 0
        ? { claim: `team-${i}-${j}-administrators` }
        : {
            matcher: `"team-${i}-${j}" in claims.groups && claims.email.endsWith("@team-${i}.example.com") && !has(claims.act)`,
          }),
    }))
    const spec = { type: 'awsSts', awsSts: { region: 'eu-central-1', roleMappings, service: 'aws-mcp' } }
    return JSON.stringify(reviewOf(resourceOf('MCPExternalAuthConfig', spec), { uid: uid(i) }))
  })
}
