import { readFileSync } from 'node:fs'
import t from 'tap'
import { errorBody, type ErrorType, supportedValues } from '../src/rule/field-error.ts'
import { examplesAt, rulePlaces } from '../src/kinds/places.ts'
import { findingText } from '../src/rule/finding.ts'
import { findingsIn } from '../src/engine/findings.ts'
import { atOnce } from '../src/rule/steps.ts'
import { nameText } from '../src/rule/cluster.ts'
import { goQuote, shortQuote } from '../src/rule/go-text.ts'
import { nearest } from '../src/rule/nearest.ts'
import { jsonPointer, pathText, type Segment, valueAt } from '../src/rule/path.ts'
import { stateOf } from './support/cluster-state.ts'

const golden = (name: string) =>
  JSON.parse(readFileSync(new URL(`golden/${name}`, import.meta.url), 'utf8')) as unknown

interface Row {
  readonly constructor: string
  readonly path: readonly (string | { index: number } | { key: string })[]
  readonly value?: unknown
  readonly detail?: string
  readonly allowed?: string[]
  readonly pathText: string
  readonly body: string
}

/** The error constructors of k8s.io/apimachinery that the product uses too. */
const TYPES: Readonly<Record<string, ErrorType>> = {
  Required: 'required',
  Invalid: 'invalid',
  TypeInvalid: 'typeInvalid',
  NotSupported: 'notSupported',
  Duplicate: 'duplicate',
  NotFound: 'notFound',
  Forbidden: 'forbidden',
}

t.test('paths and texts are those of k8s.io/apimachinery', async (t) => {
  const different = []
  let compared = 0
  for (const row of golden('field-errors.json') as Row[]) {
    const at = row.path.map((step): Segment =>
      typeof step === 'object' && 'index' in step ? step.index : step,
    )
    if (pathText(at) !== row.pathText) different.push([row.pathText, pathText(at)])
    const type = TYPES[row.constructor]
    const map = JSON.stringify(row.value ?? null).includes('{')
    if (type === undefined || map || row.allowed?.length === 0) continue // we print no maps, and lists of values are never empty
    compared += 1
    const detail = row.allowed === undefined ? (row.detail ?? '') : supportedValues(row.allowed)
    const text = errorBody({ type, at, value: row.value, detail })
    if (text !== row.body && !newerThanGo(text, row.body)) different.push([row.body, text])
  }
  t.strictSame(different, [])
  t.ok(compared > 500, `${compared} rows`)
})

/** Whether the texts differ only because Go still escapes characters of newer Unicode versions, which Node knows. */
function newerThanGo(ours: string, gos: string): boolean {
  const unescaped = gos.replace(/\\u([0-9a-f]{4})|\\U([0-9a-f]{8})/g, (_, short?: string, long?: string) =>
    String.fromCodePoint(parseInt(short ?? long ?? '', 16)),
  )
  const also = ours.replace(/\\u([0-9a-f]{4})|\\U([0-9a-f]{8})/g, (_, short?: string, long?: string) =>
    String.fromCodePoint(parseInt(short ?? long ?? '', 16)),
  )
  return unescaped === also && /\\[uU]/.test(gos)
}

t.test('what Go prints and what it escapes', async (t) => {
  const { printable } = golden('go-print.json') as { printable: [number, number][] }
  const different: string[] = []
  let range = 0
  let newer = 0
  for (let code = 0x20; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue
    while ((printable[range]?.[1] ?? Infinity) < code) range += 1
    const printed = code >= (printable[range]?.[0] ?? Infinity)
    const character = String.fromCodePoint(code)
    const ours = goQuote(character) === `"${character}"` || '"\\'.includes(character)
    if (printed && !ours) different.push(code.toString(16))
    else if (!printed && ours) newer += 1
  }
  t.strictSame(different.slice(0, 20), [], `${different.length} code points are escaped that Go prints`)
  t.ok(newer < 20_000, `${newer} code points of later Unicode versions`)
})

t.test('places', async (t) => {
  t.equal(jsonPointer(['spec', 'backends', { key: 'a/b~c' }, 0]), '/spec/backends/a~1b~0c/0')
  const object = JSON.parse('{"a":{"__proto__":[1]}}') as unknown
  t.equal(valueAt(object, ['a', { key: '__proto__' }, 0]), 1)
  t.equal(valueAt(object, ['a', 'constructor']), undefined)
})

t.test('near names', async (t) => {
  const known = ['tokenUrl', 'clientId', 'clientSecretRef', 'issuer']
  for (const [name, near] of [
    ['token_url', 'tokenUrl'],
    ['clientID', 'clientId'],
    ['isuer', 'issuer'],
    ['x', undefined],
    ['replicas', undefined],
  ])
    t.equal(nearest(name ?? '', known), near)
  for (const names of [
    ['c0', 'c1'],
    ['c1', 'c0'],
  ])
    t.equal(nearest('cx', names), 'c0', 'of two that are equally near, the first by name')
})

t.test('near names of anybody: the search ends', async (t) => {
  const long = 'a'.repeat(1_000_000)
  t.equal(nearest(long, [`${long}b`]), undefined, 'no long text has a near one')
  t.equal(nearest('name', [long, 'nam']), 'nam')
  const many = Array.from({ length: 100_000 }, (_, i) => `${'b'.repeat(245)}${i}`)
  t.equal(nearest('a'.repeat(250), many), undefined)
  t.equal(nearest('c'.repeat(253), [`${'c'.repeat(252)}d`]), `${'c'.repeat(252)}d`)
})

t.test('what is told of other objects is short', async (t) => {
  t.equal(shortQuote('a"b'), '"a\\"b"')
  t.equal(shortQuote('a'.repeat(1_000_000)).length, 203)
  t.equal(nameText({ kind: 'MCPServer', name: 'a'.repeat(1_000_000) }).length, 213)
})

t.test('user information of URLs is printed nowhere', async (t) => {
  const rows: [value: string, printed: string][] = [
    ['https://user:password@host/path', 'https://***@host/path'],
    ['https://token@host', 'https://***@host'],
    ['https://user:p/ss@host/path', 'https://***@host/path'],
    ['https://user:p@ss@host', 'https://***@host'],
    ['https://user:p?s#s@host', 'https://***@host'],
    ['https://user:p"s s@host', 'https://***@host'],
    ['//user:password@host', '//***@host'],
    ['https:/user:password@host', 'https:/***@host'],
    ['user:password@host', '***@host'],
    ['https://one.example.com,https://user:password@host', 'https://one.example.com,https://***@host'],
    [`https://user:${'p'.repeat(5_000)}@host`, 'https://***@host'],
    ['https://host:8443/path@two', 'https://host:8443/path@two'],
    ['https://[::1]:8443/path@two', 'https://[::1]:8443/path@two'],
    ['ann@example.com', 'ann@example.com'],
    ['arn:aws:iam::123456789012:role/ann@example.com', 'arn:aws:iam::123456789012:role/ann@example.com'],
  ]
  for (const [value, printed] of rows) {
    t.equal(errorBody({ type: 'invalid', at: [], value, detail: 'no' }), `Invalid value: "${printed}": no`)
    t.equal(shortQuote(value), `"${printed}"`)
  }
})

t.test('no rule prints the user information of a URL, its own or of another object', async (t) => {
  const leaking = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(/^(https?:\/\/)/, '$1ann:hush/hush@')
    if (Array.isArray(value)) return value.map(leaking)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, leaking(field)]))
  }
  let urls = 0
  for (const place of rulePlaces()) {
    for (const { resource, others, title } of examplesAt(place)) {
      const self = { kind: place.kind.kind, name: 'example' }
      const cluster = stateOf(others.map((other) => leaking(other))).in('default')
      const found = [resource, leaking(resource)].flatMap((value) => [
        ...atOnce(findingsIn(place.kind, value, { cluster, self, old: () => resource })),
      ])
      const texts = found.map(findingText)
      urls += texts.filter((text) => text.includes('***@')).length
      t.strictSame(
        texts.filter((text) => /hush|ann:/.test(text)),
        [],
        title,
      )
    }
  }
  t.ok(urls > 20, `${urls} texts with a URL`)
})
