import { readFileSync } from 'node:fs'
import { isMap, isScalar, parseDocument, stringify, type YAMLMap } from 'yaml'
import { DEFAULT_API_GROUP } from '../kinds/index.ts'
import { crds } from './crds.ts'
import type { GeneratedFile } from './generated-file.ts'
import { code, GENERATED, page, table } from './markdown.ts'
import { rbac } from './rbac.ts'

const CHART = 'deploy/helm/vmcp-admission'

/** What the chart shares with the rest of the repository, as helm can read it: files inside the chart. */
export function* chart(): Iterable<GeneratedFile> {
  for (const { path, text } of rbac()) {
    yield {
      path: path.replace('deploy', `${CHART}/files`),
      text: text.replaceAll(DEFAULT_API_GROUP, 'API_GROUP'),
    }
  }
  for (const { path, text } of crds()) {
    if (path.startsWith('deploy/crds/')) yield { path: path.replace('deploy', `${CHART}/files`), text }
  }
  yield valuesPage()
}

const INTRODUCTION = `The server behind a Service, with its rights, and what keeps it available. The two webhook configurations are not
here: the server writes them. [docs/install.md](../../../docs/install.md) says how it is installed; the values, from
\`values.yaml\`, are checked against \`values.schema.json\`.`

/** The README of the chart: every value, from the comments of values.yaml. Throws when one has none. */
function valuesPage(): GeneratedFile {
  const values = parseDocument(file('values.yaml')).contents
  if (!isMap(values)) throw new Error('values.yaml is no map')
  const schema = JSON.parse(file('values.schema.json')) as Schema
  return {
    path: `${CHART}/README.md`,
    text: page([
      GENERATED,
      '# The chart vmcp-admission',
      INTRODUCTION,
      table(['Value', 'Default', 'What it is'], rows(values, schema, '')),
    ]),
  }
}

const file = (name: string) => readFileSync(new URL(`../../${CHART}/${name}`, import.meta.url), 'utf8')

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
}

/** A row for each value that has a comment; a map without one is taken apart. */
function rows(map: YAMLMap, schema: Schema, at: string): string[][] {
  return map.items.flatMap(({ key, value }, index) => {
    if (!isScalar(key)) throw new Error(`values.yaml: a key of ${at} is no text`)
    const path = at + String(key.value)
    const inner = schema.properties?.[String(key.value)]
    if (inner === undefined) throw new Error(`values.schema.json knows no ${path}`)
    // The first key of a map has its comment at the map.
    const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : null)
    if (comment == null && isMap(value)) return rows(value, inner, `${path}.`)
    if (comment == null) throw new Error(`values.yaml: ${path} has no comment`)
    const text = comment.split('\n').map((line) => line.trim())
    return [[code(path), code(written(value)), text.join(' ')]]
  })
}

const written = (value: unknown) =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0, singleQuote: true }).trim()
