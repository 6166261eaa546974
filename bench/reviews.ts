import { readdirSync, readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { resourceOf, reviewOf } from '../test/support/review.ts'
import { requestOf } from './client.ts'

const EXAMPLES = new URL('../examples/', import.meta.url)
/** Copies of each manifest in examples/, each with hosts of its own. */
const COPIES = 8
/** Copies of each manifest in examples/bad: about one review in eight is a denial, more than any cluster sees. */
const BAD_COPIES = 3
/** Stands in a body where each request has a number of its own: in hosts, matchers, claims, and the uid. */
export const NUMBER = '7654321'
/** Words of the examples in claims and matchers. */
const WORDS = /billing|admins|writers/g

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
    const own = text
      .replaceAll('example.com', `team-${copy}-${NUMBER}.example.com`)
      .replaceAll(WORDS, (word) => `${word}-${copy}-${NUMBER}`)
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
  return `705ab4f5-6393-11e8-b7cc-${String(i).padStart(5, '0')}${NUMBER}`
}

/**
 * The bodies in turn, each with numbers that none before it had: nothing that a server remembers of one body, such as the
 * verdict on a matcher, serves another.
 */
export function* freshBodies(bodies: readonly (string | Buffer)[]): Generator<Buffer, never> {
  if (bodies.length === 0) throw new Error('there are no bodies')
  const templates = bodies.map((body) => {
    const bytes = Buffer.from(body as string)
    const places: number[] = []
    for (let at = bytes.indexOf(NUMBER); at >= 0; at = bytes.indexOf(NUMBER, at + 1)) places.push(at)
    return { bytes, places }
  })
  for (let count = 0; ;) {
    for (const { bytes, places } of templates) {
      const own = Buffer.from(bytes)
      const number = String(count++ % 10 ** NUMBER.length).padStart(NUMBER.length, '0')
      for (const at of places) own.write(number, at, 'latin1')
      yield own
    }
  }
}

/** The same as requests. */
export const freshRequests = (path: string, bodies: readonly string[]): Generator<Buffer, never> =>
  freshBodies(bodies.map((body) => requestOf(path, body)))

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

/** Creations of 4 KB without a mistake: the embedded authorization server of the examples. */
export const smallReviews = (): string[] =>
  mixedReviews().filter(
    (body) => body.includes('"operation":"CREATE"') && body.includes('"name":"wiki-login-'),
  )

/** Reviews of 27 KB: 155 role mappings, half of them with a matcher, all different; one has a claim too, and is denied. */
export function roleMappingReviews(): string[] {
  return Array.from({ length: 8 }, (_, i) => {
    const roleMappings = Array.from({ length: 155 }, (_, j) => ({
      roleArn: `arn:aws:iam::123456789012:role/platform-engineering/team-${NUMBER}-${j}`,
      priority: j,
      ...((j % 2 === 0 || j === WRONG + i * 2) && { claim: `team-${NUMBER}-${j}-administrators` }),
      ...(j % 2 !== 0 && {
        matcher: `"team-${NUMBER}-${j}" in claims.groups && claims.email.endsWith("@team-${NUMBER}.example.com") && !has(claims.act)`,
      }),
    }))
    const spec = { type: 'awsSts', awsSts: { region: 'eu-central-1', roleMappings, service: 'aws-mcp' } }
    return JSON.stringify(reviewOf(resourceOf('MCPExternalAuthConfig', spec), { uid: uid(i) }))
  })
}

/** The index of the mapping with a claim and a matcher in the first of them. */
const WRONG = 77
