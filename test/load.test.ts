import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { loadDocuments } from '../src/cli/input/load.ts'
import type { LoadedDocument, ReadDocument } from '../src/cli/input/load.ts'
import { findBinaries } from './e2e/find-binaries.ts'
import { goldenFile, rowText, runKubectl } from './golden/record-yaml-scalars.ts'
import type { Golden, Input, Outcome } from './golden/record-yaml-scalars.ts'

const golden = JSON.parse(readFileSync(goldenFile, 'utf8')) as Golden

/** How the product reads a row, in the format of the golden file. */
function outcome(row: Input): Outcome {
  const documents = loadDocuments(rowText(row))
  // kubectl requires objects with a kind; the loader accepts any value.
  if (documents.some((document) => 'error' in document || !isObject(document.value))) return { error: true }
  const values = documents.map((document) => plain((document as ReadDocument).value))
  return { json: 'file' in row ? values : (values[0] as { v: unknown }).v }
}

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as { kind?: unknown }).kind === 'string'

/** The value with 0 in place of -0. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const label = (row: Input): string => ('file' in row ? row.file : row.yaml)

const refusedHere = 'an error here, and easy to write in another way'
const refusedThere = 'kubectl refuses the file loudly, so that nothing of it is applied'
const oddLine = 'nobody writes this line end; kubectl drops the spaces around it'
const secondValue = 'an error here, where kubectl drops the second object in silence'

/** Differences from kubectl: the row, the results of kubectl and of the product, and why that is harmless. */
const knownDifferences: [string, Outcome, Outcome, string][] = [
  ['[-]', { json: ['-'] }, { error: true }, refusedHere],
  ['{a: -}', { json: { a: '-' } }, { error: true }, refusedHere],
  ['"\\\'"', { json: "'" }, { error: true }, refusedHere],
  ['"x\\\n\ny"', { json: 'x\ny' }, { error: true }, refusedHere],
  ['[b :]', { json: ['b :'] }, { error: true }, refusedHere],
  ['{a :,}', { json: { 'a :': null } }, { error: true }, refusedHere],
  ['{?b: {}}', { json: { b: {} } }, { error: true }, refusedHere],
  ['a\u2028b', { error: true }, { json: 'a\u2028b' }, refusedThere],
  ['a \u2028 b', { json: 'a\u2028b' }, { json: 'a \u2028 b' }, oddLine],
  [
    `---\n${configMap('a')}\n${configMap('b')}`,
    { json: [JSON.parse(configMap('a'))] },
    { error: true },
    secondValue,
  ],
]

function configMap(name: string): string {
  return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"}}`
}

t.test(`scalars and files are read as kubectl ${golden.kubectl} reads them`, async (t) => {
  t.ok(golden.rows.length > 500)
  const differences = golden.rows.flatMap((row) => {
    const expected = 'error' in row ? { error: true } : { json: plain(row.json) }
    const found = outcome(row)
    return isDeepStrictEqual(found, expected) ? [] : [[label(row), expected, found]]
  })
  const byRow = (a: unknown[], b: unknown[]) => (String(a[0]) < String(b[0]) ? -1 : 1)
  t.strictSame(differences.sort(byRow), knownDifferences.map((known) => known.slice(0, 3)).sort(byRow))
})

const binaries = findBinaries()
const missing = 'missing' in binaries && binaries.missing
const skip = process.env.CI === 'true' ? false : missing

t.test('the golden table is what kubectl says today', { skip }, async (t) => {
  if ('missing' in binaries) {
    t.fail(binaries.missing)
    return
  }
  const results = await runKubectl(binaries.kubectl, golden.rows)
  const differences = golden.rows.flatMap((row, index) => {
    const expected = 'error' in row ? { error: true } : { json: row.json }
    const found = plain(results[index])
    return isDeepStrictEqual(found, expected) ? [] : [{ row: label(row), expected, found }]
  })
  t.strictSame(differences, [])
})

/** The document of a text that has exactly one. */
function only(text: string): ReadDocument {
  const [document, ...more] = loadDocuments(text)
  if (!document || 'error' in document || more.length > 0) throw new Error(`not one document: ${text}`)
  return document
}

const at = (document: LoadedDocument | undefined, path: (string | number)[], target: 'key' | 'value') => {
  if (!document || 'error' in document) return 'unread'
  const { line, column } = document.locate(path, target)
  return `${line}:${column}`
}

const block = `# comment
apiVersion: v1
metadata:
  name: "a"
  labels: &labels
    x: 1
    other:
list:
- one
-   two: 2
    three: !!str 3
flow: {a: [1, {b: 2}], "c": *labels}
copy: *labels
merged:
  <<: *labels
  z: 😀
  "😀": {q: 1}
text: |
  line
? complex
: value
`

t.test('places in YAML', async (t) => {
  const document = only(block)
  t.equal(document.line, 2)
  const rows: [(string | number)[], string, string][] = [
    [[], '2:1', '2:1'],
    [['apiVersion'], '2:1', '2:13'],
    [['metadata'], '3:1', '4:3'],
    [['metadata', 'name'], '4:3', '4:9'],
    [['metadata', 'labels'], '5:3', '6:5'],
    [['metadata', 'labels', 'x'], '6:5', '6:8'],
    // The position of a missing value is that of its key.
    [['metadata', 'labels', 'other'], '7:5', '7:5'],
    [['list'], '8:1', '9:1'],
    [['list', 0], '9:3', '9:3'],
    [['list', 1], '10:5', '10:5'],
    [['list', 1, 'three'], '11:5', '11:18'],
    [['flow'], '12:1', '12:7'],
    [['flow', 'a'], '12:8', '12:11'],
    [['flow', 'a', 0], '12:12', '12:12'],
    [['flow', 'a', 1], '12:15', '12:15'],
    [['flow', 'a', 1, 'b'], '12:16', '12:19'],
    // The position of an alias is where it is used; that of a value in it is where the value is written.
    [['flow', 'c'], '12:24', '12:29'],
    [['copy'], '13:1', '13:7'],
    [['copy', 'x'], '6:5', '6:8'],
    [['merged', 'x'], '6:5', '6:8'],
    [['merged', 'z'], '16:3', '16:6'],
    // Columns count characters, not UTF-16 code units.
    [['merged', '😀', 'q'], '17:9', '17:12'],
    [['text'], '18:1', '18:7'],
    [['complex'], '20:3', '21:3'],
    // The position of something that does not exist is that of its parent.
    [['metadata', 'nothing', 'here'], '3:1', '3:1'],
    [['list', 7, 'x'], '8:1', '8:1'],
    [['list', 'x'], '8:1', '8:1'],
    [['nothing'], '2:1', '2:1'],
    [['apiVersion', 'x'], '2:1', '2:1'],
  ]
  for (const [path, key, value] of rows) {
    t.equal(at(document, path, 'key'), key, `key of ${path.join('.')}`)
    t.equal(at(document, path, 'value'), value, `value of ${path.join('.')}`)
  }
})

t.test('the places are the same with CR LF and a byte order mark', async (t) => {
  const document = only(`\ufeff${block.replaceAll('\n', '\r\n')}`)
  t.equal(at(document, ['metadata', 'labels', 'x'], 'value'), '6:8')
  t.equal(at(document, ['apiVersion'], 'value'), '2:13')
})

t.test('places in JSON', async (t) => {
  const documents = loadDocuments('{"a": 1,\n "b": {"c": [true, "x"]}}\n  {"d": null}')
  const [first, second] = documents
  t.equal(documents.length, 2)
  t.equal(at(first, ['a'], 'value'), '1:7')
  t.equal(at(first, ['b'], 'key'), '2:2')
  t.equal(at(first, ['b', 'c', 1], 'value'), '2:20')
  t.equal(at(second, [], 'key'), '3:3')
  t.equal(at(second, ['d'], 'value'), '3:9')
})

t.test('items of a list are documents of their own', async (t) => {
  const text =
    'kind: List\napiVersion: v1\nitems:\n- kind: A\n  spec: {x: 1}\n- {kind: B, spec: ~}\n- 3\n- kind: List\n  items: []\n'
  const [first, second, third, fourth] = loadDocuments(text) as ReadDocument[]
  t.strictSame(first?.value, { kind: 'A', spec: { x: 1 } })
  t.strictSame(first?.within, ['items', 0])
  t.equal(first?.line, 4)
  t.equal(at(first, ['spec', 'x'], 'value'), '5:13')
  t.equal(at(second, ['spec'], 'key'), '6:13')
  t.match(third, { error: { message: 'an item of a list needs to be an object', line: 7, column: 3 } })
  t.match(fourth, { error: { message: 'kubectl takes no list in a list', line: 8 } })
  t.equal(loadDocuments(text, { expandLists: false }).length, 1)
})

t.test('items of a typed list get its kind when they have none', async (t) => {
  const text = 'kind: MCPGroupList\napiVersion: g/v1\nitems:\n- metadata: {name: a}\n- {kind: X}\n'
  const values = loadDocuments(text).map((document) => (document as ReadDocument).value)
  t.strictSame(values, [{ metadata: { name: 'a' }, kind: 'MCPGroup', apiVersion: 'g/v1' }, { kind: 'X' }])
})

t.test('one document that cannot be read does not lose the others', async (t) => {
  const documents = loadDocuments('a: 1\n---\nb: [1,\n---\nc: 3\n--- d\ne: "\n---\nf: 6\n')
  t.match(documents, [
    { value: { a: 1 } },
    { error: { message: /must be sufficiently indented and end with a ]$/, line: 4, column: 1 } },
    { value: { c: 3 } },
    { error: { message: 'only a comment can follow "---" on its line, not "d"', line: 6, column: 1 } },
    { error: { message: 'missing closing "quote', line: 8, column: 1 } },
    { value: { f: 6 } },
  ])
})

t.test('errors have a text and a place', async (t) => {
  const rows: [string, string, number, number][] = [
    ['a:\n- \tb', 'found a tab where only spaces can indent', 2, 2],
    ['a: &x/y b', 'an anchor needs a name of letters, digits, "-" and "_"', 1, 9],
    ['{a:}', 'kubectl takes the ":" for a part of the key: put a space behind it', 1, 2],
    ['a: "\\/"', 'found an escape that kubectl does not know', 1, 4],
    ['---\n{a: 1} x', 'there is more text behind the value: quote all of it', 2, 8],
    ["a: 'it's'", 'there is more text behind the value: quote all of it', 1, 8],
    [
      'a: b: c',
      'a second ": " on the line, or a line too deep: quote the value, or mend the indentation',
      1,
      4,
    ],
    [
      'a: b\n  c: d',
      'a second ": " on the line, or a line too deep: quote the value, or mend the indentation',
      1,
      4,
    ],
    [
      'a:b\nc: d',
      'a key needs ": " behind it on the same line; or a line stands at the wrong indentation',
      1,
      1,
    ],
    [
      'a:\n- b\n  c: d',
      'a key needs ": " behind it on the same line; or a line stands at the wrong indentation',
      2,
      3,
    ],
    [
      'a: |\n x\ny\nb: 1',
      'a key needs ": " behind it on the same line; or a line stands at the wrong indentation',
      3,
      1,
    ],
    ['a: - b', 'a list begins on a line of its own, or is written [b]', 1, 4],
    ['a: "b\nc: d\ne: "f"', 'missing closing "quote', 1, 6],
    ['a: {b: c\nd: e', 'flow map in block collection must be sufficiently indented and end with a }', 2, 1],
    ['a: [b\n\t, c]', 'found a tab where only spaces can indent', 2, 1],
    ['a: {b :[]}', 'kubectl takes the ":" for a part of the key: put a space behind it', 1, 5],
    ['a: [b?]', 'kubectl takes a "?" between brackets for the start of a key: quote the text', 1, 5],
    ['a: "b\\\n\nc"', 'an empty line behind a "\\" at the end of a line: write \\n', 1, 4],
    ['{"a": 1}\n{"b": 2}\n{"c" 3}', 'found "3" where ":" is due', 3, 6],
    ['---\n{"a": 1}\n{"b": 2}', 'unexpected flow-map-start at node end', 3, 1],
    ['a:\n\tb: 1', 'found a tab where only spaces can indent', 2, 1],
    ['a: .inf', 'the number is infinite, too large or not a number: JSON has no word for it', 1, 4],
    ['{"a": 1e400}', 'the number is infinite, too large or not a number: JSON has no word for it', 1, 7],
    ['a: !!int x', 'cannot read "x" (str) as !!int', 1, 10],
    ['? [a]\n: b', 'a key cannot be a map or a list', 1, 3],
    ['~: b', 'a key cannot be null', 1, 1],
    ['a: *b', "unknown anchor 'b' referenced", 1, 4],
    ['a: \x01', 'control characters are not allowed; is it UTF-8?', 1, 4],
    ['%YAML 1.2\n---\na: 1', 'kubectl takes no directive: "---" ends its document at once', 1, 1],
    ['{"a" 1}', 'found "1" where ":" is due', 1, 6],
    ['{"a": "\\x"}', 'a string holds an escape that JSON does not have', 1, 8],
    ['{"a": [1', 'the JSON text ends where "," or "]" is due', 1, 9],
    ['{"a": 1}{"b": 2}\n---\n{}', '"---" cannot follow two JSON values that have none between them', 2, 1],
    ['kind: List\nitems: {}', '"items" makes this a list for kubectl, and needs to be an array', 2, 8],
  ]
  for (const [text, message, line, column] of rows) {
    const errors = loadDocuments(text).flatMap((document) => ('error' in document ? [document.error] : []))
    t.strictSame(errors[0], { message, line, column }, JSON.stringify(text))
  }
})

t.test('places in collections and texts that go on at any indentation', (t) => {
  const document = only('spec:\n  args: ["a",\n"b", {c: d}#e\n  ]\n  text: "x\n\ty"\n  end: 1\n')
  t.strictSame(document.value, { spec: { args: ['a', 'b', { c: 'd' }], text: 'x y', end: 1 } })
  t.strictSame(at(document, ['spec', 'args', 1], 'value'), '3:1')
  t.strictSame(at(document, ['spec', 'args', 2, 'c'], 'value'), '3:10')
  t.strictSame(at(document, ['spec', 'text'], 'value'), '5:9')
  t.strictSame(at(document, ['spec', 'end'], 'key'), '7:3')
  t.end()
})

t.test('what kubectl takes in silence is noted', async (t) => {
  const rows: [string, string, number, number][] = [
    ['a: 1\nb: 2\na: 3', 'the key "a" is given more than once: kubectl takes the last', 3, 1],
    [
      'apiVersion: v1\nb: 1\napiVersion: v2',
      'the key "apiVersion" is given more than once: kubectl takes the last; is a line with --- missing before it?',
      3,
      1,
    ],
    ['{"a": 1, "a": 2}', 'the key "a" is given more than once: kubectl takes the last', 1, 10],
    ['a: 1\n<<: {a: 2}', 'the merge sets "a" again: kubectl lets it win over the key before it', 2, 1],
    ['a: 1\n...\nb: 2', 'kubectl does not read what follows the end of the document', 3, 1],
    ['a: {y: 1}', 'kubectl takes the key y for a boolean, and names it "true": quote it', 1, 5],
  ]
  for (const [text, message, line, column] of rows)
    t.strictSame(only(text).notes, [{ message, line, column }], JSON.stringify(text))
  t.strictSame(only('<<: {a: 1}\na: 2').notes, [])
  t.strictSame(only('a: 1\n...\n# end').notes, [])
})

t.test('lone scalars, empty documents and odd keys', async (t) => {
  t.strictSame(only('12').value, 12)
  t.strictSame(only('--- # c\n"12"').value, '12')
  t.strictSame(only('[1]').value, [1])
  t.strictSame(loadDocuments('---\n---\n# c\n---\n~\n'), [])
  for (const text of ['__proto__: {a: 1}', '{"__proto__": {"a": 1}}']) {
    const { value } = only(text)
    t.strictSame(Object.keys(value as object), ['__proto__'])
    t.equal(Object.getPrototypeOf(value), Object.prototype)
    t.equal(at(only(text), ['__proto__', 'a'], 'value'), text.startsWith('{') ? '1:21' : '1:16')
  }
})

t.test('aliases share nothing in the value', async (t) => {
  const { a, b } = only('a: &x {k: [1]}\nb: *x').value as { a: { k: number[] }; b: { k: number[] } }
  a.k.push(2)
  t.strictSame(b, { k: [1] })
})

const bomb = `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${Array.from(
  { length: 30 },
  (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]\n`,
).join('')}`
const mergeBomb = `a0: &a0 {x: 1}\n${Array.from(
  { length: 60 },
  (_, i) => `a${i + 1}: &a${i + 1} {<<: [*a${i}, *a${i}], k${i}: 1}\n`,
).join('')}`

t.test('limits', async (t) => {
  const errorOf = (text: string) => (loadDocuments(text)[0] as { error?: { message: string } }).error?.message
  t.equal(errorOf(bomb), 'document contains excessive aliasing')
  t.equal(errorOf(mergeBomb), 'document contains excessive aliasing')
  const deep = 'lists and maps nest deeper than 500 levels'
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  t.equal(errorOf(nested(500)), undefined)
  t.equal(errorOf(nested(501)), deep)
  t.equal(errorOf('['.repeat(50_000)), deep)
  t.equal(errorOf('- '.repeat(50_000)), deep)
  t.equal(errorOf(`{"a":${nested(499)}}`), undefined)
  t.equal(errorOf(`{"a":${nested(500)}}`), deep)
  t.equal(errorOf('{"a":'.repeat(200_000)), deep)
  const chain = Array.from({ length: 150 }, (_, i) => `a${i + 1}: &a${i + 1} [[[[[[[[*a${i}]]]]]]]]\n`)
  t.equal(errorOf(`a0: &a0 x\n${chain.join('')}`), deep)
  t.equal(errorOf(`{? ${nested(20_000)} : a}`), deep)
})

t.test('long texts of every shape are read or refused; a quadratic reader would not come back', async (t) => {
  const texts = {
    maps: Array.from({ length: 40_000 }, (_, i) => `key${i}: v\n`).join(''),
    documents: Array.from({ length: 8_000 }, (_, i) => `a: ${i}\nb: [x, "y"]\n---\n`).join(''),
    flow: `a: [${Array.from({ length: 50_000 }, (_, i) => i).join(', ')}]`,
    duplicates: `{${'"a": 1, '.repeat(150_000)}"b": 1}`,
    pairs: `a: {${'? a : b, '.repeat(40_000)}}`,
    comments: `a:\n${'  # c\n'.repeat(100_000)}  b: 1`,
    blanks: `a: x${' '.repeat(1_000_000)}\nb: ${' \n'.repeat(300_000)}`,
    separators: '---\n'.repeat(100_000),
    spacedSeparator: `---${' '.repeat(1_000_000)}x`,
    quoted: `a: "${'x\\n y '.repeat(200_000)}"`,
    keys: `${'? '.repeat(500)}a\n`,
    anchors: '&a '.repeat(50_000),
    tags: '! '.repeat(50_000),
    open: `{"a": 1} ${'{'.repeat(100_000)}`,
    underscores: `a: 1${'_'.repeat(1_000_000)}x`,
    digits: `a: 0b${'1'.repeat(1_000_000)}`,
    base64: `a: !!binary ${'QUJD'.repeat(200_000)}`,
  }
  /** The expected numbers of readable and unreadable documents; by default [1, 0]. */
  const outcomes: Readonly<Record<string, [number, number]>> = {
    documents: [8_000, 0],
    separators: [0, 0],
    spacedSeparator: [0, 1],
    keys: [0, 1],
    anchors: [0, 1],
    tags: [0, 1],
    open: [1, 1],
  }
  for (const [name, text] of Object.entries(texts)) {
    const documents = loadDocuments(text)
    const unread = documents.filter((document) => 'error' in document).length
    t.strictSame([documents.length - unread, unread], outcomes[name] ?? [1, 0], name)
  }
})

const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 })

t.test('properties', async (t) => {
  const property = (name: string, property: fc.IProperty<[string]> | fc.IProperty<[fc.JsonValue]>) =>
    t.doesNotThrow(() => fc.assert(property as fc.IProperty<[unknown]>, { numRuns: 500 }), name)
  property(
    'JSON text of an object gives the object back',
    fc.property(json, (v) => {
      const { value } = only(JSON.stringify({ v }))
      return JSON.stringify(value) === JSON.stringify({ v })
    }),
  )
  property(
    'any JSON value gives itself back',
    fc.property(fc.jsonValue({ stringUnit: 'grapheme-ascii' }), (v) => {
      const [document] = loadDocuments(JSON.stringify(v))
      if (v === null) return document === undefined
      // The YAML library does not support the escape `\/`, and JSON.stringify never writes it.
      return JSON.stringify((document as ReadDocument).value) === JSON.stringify(v)
    }),
  )
  property(
    'every part of a value has a place',
    fc.property(json, (v) => {
      const text = JSON.stringify({ v })
      const { column } = only(text).locate(['v'], 'value')
      return column === 6
    }),
  )
  const pieces = fc.constantFrom(
    ...'-?:,[]{}#&*!|>\'"%@` \n\t\\abc<01._~'.split(''),
    '---',
    '\n  ',
    ': ',
    '- ',
    '\r',
    '\u2028',
    '<<',
    '&a ',
    '*a ',
    '{"a":',
    '!!int ',
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('')),
  )
  property(
    'no text makes it throw',
    fc.property(texts, (text) => {
      for (const document of loadDocuments(text)) {
        const { line, column } =
          'error' in document ? document.error : document.locate(['a', 0, 'b'], 'value')
        if (!(line >= 1 && column >= 1 && line <= text.split('\n').length + 1)) return false
      }
      return true
    }),
  )
})
