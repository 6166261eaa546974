/**
 * Compact descriptions of folders with manifests, kustomizations and a configuration file; they are rendered to any
 * size.
 */

import type { Resource } from './candidate.ts'
import { fitting, mutatePlan, type Plan } from './genes.ts'
import type { Random } from './random.ts'
import { ITEM, mutateText, renderText, ROUND, type Text, textOf, UNITS } from './texts.ts'

/** How resources are written in a file: as YAML documents, a List, flow style on one line each, or JSON. */
const FORMS = ['documents', 'list', 'lines', 'json', 'json list'] as const
type Form = (typeof FORMS)[number]

type Part =
  | { readonly is: 'text'; readonly text: Text }
  /** `count` copies of a resource with numbered names; `comment` is inserted above each of its lines. */
  | {
      readonly is: 'resources'
      readonly plan: Plan
      readonly form: Form
      readonly count: number
      readonly comment?: Text
    }

/** A file, or `count` files: ITEM in their names and texts is the number of the file. */
export interface FilePlan {
  readonly name: string
  readonly count: number
  readonly parts: readonly Part[]
}

export type TreePlan = readonly FilePlan[]

/** The texts of files by name. */
export type Tree = ReadonlyMap<string, string>

/** The most bytes and the most files of a rendered tree. */
const [MOST_BYTES, MOST_FILES] = [1_500_000, 2_000]

/**
 * Renders the described files, cut at MOST_BYTES. If `isOld`, resources that have a stored state are written in that
 * state.
 */
export function render(plan: TreePlan, isOld: boolean): Tree {
  const files = new Map<string, string>()
  let room = MOST_BYTES
  for (const { name, count, parts } of plan)
    for (let item = 0; item < count && files.size < MOST_FILES && room > 0; item++) {
      let text = ''
      for (const part of parts) text += rendered(part, item, room - text.length, isOld)
      files.set(name.replaceAll(ITEM, String(item)), text)
      room -= text.length
    }
  return files
}

function rendered(part: Part, item: number, room: number, isOld: boolean): string {
  if (room <= 0) return ''
  if (part.is === 'text') return renderText(part.text, { item, round: 0 }, room)
  const { plan, form, count, comment } = part
  const { object, oldObject, others } = fitting(plan).candidate
  const own = (isOld ? oldObject : undefined) ?? object
  const beside = others.slice(0, MOST_BESIDE).map((each) => textOfResource(each, form))
  const one = textOfResource(numbered(own), form)
  const texts = [...beside, one.replaceAll(ITEM, String(item))]
  const size = one.length + 4
  for (let i = 1; i < count && i * size < room; i++) texts.push(one.replaceAll(ITEM, `${item}-${i}`))
  const text = joined(texts, form)
  if (comment === undefined) return text
  const line = renderText(comment, { item, round: 0 }, 2_000).replaceAll('\n', ' ')
  return text.replaceAll(/^ {0,8}\b/gm, (indent) => `${indent}# ${line}\n${indent}`).slice(0, room)
}

/** The most other objects in the file of a resource. */
const MOST_BESIDE = 200

function numbered(resource: Resource): Resource {
  const metadata = resource.metadata as { readonly name?: unknown }
  return { ...resource, metadata: { ...metadata, name: `${String(metadata.name)}-${ITEM}` } }
}

function textOfResource(resource: Resource, form: Form): string {
  switch (form) {
    case 'documents':
      return block(resource, '\n').trimStart()
    case 'list':
      return `- ${block(resource, '\n  ').trimStart()}`
    default:
      return JSON.stringify(resource)
  }
}

function joined(texts: readonly string[], form: Form): string {
  switch (form) {
    case 'list':
      return `apiVersion: v1\nkind: List\nitems:\n${texts.join('\n')}\n`
    case 'json':
      return texts.join('\n')
    case 'json list':
      return `{"apiVersion":"v1","kind":"List","items":[${texts.join(',')}]}\n`
    default:
      return `${texts.join('\n---\n')}\n---\n`
  }
}

/** A value as YAML in block style; `start` is a line end and the indentation of its fields. */
function block(value: unknown, start: string): string {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
  if (entries.length === 0) return JSON.stringify(value)
  const keyOf = (key: string) =>
    Array.isArray(value) ? '-' : `${/^[A-Za-z][\w./-]*$/.test(key) ? key : JSON.stringify(key)}:`
  return entries.map(([key, member]) => `${start}${keyOf(key)} ${block(member, `${start}  `)}`).join('')
}

/** Units that are difficult for readers of YAML, comments and templates. */
const YAML_UNITS: readonly string[] = [
  ...[
    '---\n',
    '--- x\n',
    '...\n',
    '--- # x\n',
    '---',
    '\n\n',
    '- ',
    '- - ',
    '? ',
    '? a\n',
    ': ',
    ': a\n',
    '- {}\n',
    '- a\n',
  ],
  ...[
    '[',
    '{',
    '{a: ',
    '{"a":',
    '[{',
    ']',
    '}',
    '],\n',
    '"a",',
    '{},',
    'a: [',
    '{"a":1}\n',
    '{"a":1},',
    '[[],',
  ],
  ...[
    `a${ROUND}: b\n`,
    `"a${ROUND}":1,`,
    'a: b\n',
    'a:\n',
    ' a:\n',
    '  - b\n',
    'a: &a b\n',
    `&a${ROUND} `,
    '*a ',
    '*a,',
  ],
  ...[
    `a${ROUND}: &a${ROUND} [*a, *a]\n`,
    `<<: *a\n`,
    `<<: [*a, *a]\n`,
    `- *a\n`,
    `- &a${ROUND} b\n`,
    `- *a${ROUND}\n`,
  ],
  ...[
    '# a\n',
    '#',
    ' # ',
    '# vmcp-admission: ignore[schema-enum] a\n',
    '# vmcp-admission: ignore[',
    'unknown-field,',
  ],
  ...[
    `# vmcp-admission: ignore[a${ROUND}] b\n`,
    '# vmcp-admission: ignore[*] a\n',
    '# vmcp-admission: ignore',
    'x,',
  ],
  ...[
    '${A}',
    `\${A${ROUND}}`,
    '$A',
    '{{ .Values.a }}',
    '{{ if a }}\n',
    '{{',
    '}}',
    '{% if a %}\n',
    '<A>',
    '@@A@@',
    '{{- a -}}\n',
  ],
  ...[
    '|\n',
    '>-\n',
    '|\n  a\n',
    '"',
    "'",
    '"\\n',
    "''",
    '\\\n',
    '!!str ',
    '!a ',
    '%YAML 1.2\n',
    '%TAG ! a:\n',
    '\t',
    '\r',
    '\ufeff',
  ],
  ...[
    'items:\n',
    'kind: List\n',
    'apiVersion: v1\n',
    'metadata:\n',
    'spec:\n',
    '  name: a\n',
    `  name: a${ROUND}\n`,
    'null\n',
    '~\n',
  ],
  ...[
    `- f${ROUND}.yaml\n`,
    `- path: f${ROUND}.yaml\n`,
    '- ../a\n',
    '- .\n',
    `- d${ROUND}/\n`,
    'resources:\n',
    'patches:\n',
    'components:\n',
  ],
]
const ALL_UNITS = [...YAML_UNITS, ...YAML_UNITS, ...UNITS]

const text = (...pieces: readonly (readonly [unit: string, times: number] | string)[]): Part => ({
  is: 'text',
  text: pieces.map((piece) =>
    typeof piece === 'string' ? { text: piece, times: 1 } : { text: piece[0], times: piece[1] },
  ),
})

const file = (name: string, ...parts: readonly Part[]): FilePlan => ({ name, count: 1, parts })

const GROUP = `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPGroup\nmetadata: { name: a${ROUND} }\n`
const CONFIG = `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPExternalAuthConfig\nmetadata: { name: a${ROUND} }\nspec: { type: token_exchange }\n`

/** The name of a configuration file. */
const CONFIGURATION = 'vmcp-admission.yaml'

/** Trees that consist of many copies of one thing, such as documents, files or anchors. */
export const SAMPLES: readonly TreePlan[] = [
  [file('a.yaml', text([`${GROUP}---\n`, 3_000]))],
  [file('a.yaml', text([`${CONFIG}---\n`, 2_000]))],
  [{ name: `f${ITEM}.yaml`, count: 500, parts: [text(GROUP), text('---\n', CONFIG)] }],
  [file('a.yaml', text('apiVersion: v1\nkind: List\nitems:\n', ['- {}\n', 60_000]))],
  [file('a.json', text('{"apiVersion":"v1","kind":"List","items":[', ['{},', 60_000], '{}]}'))],
  [file('a.json', text([`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a${ROUND}"}}\n`, 5_000]))],
  [file('a.yaml', text(CONFIG, '  awsSts: ', ['[', 400]))],
  [file('a.yaml', text(CONFIG, ['# vmcp-admission: ignore[schema-enum] a\n', 5_000], '  x: 1\n'))],
  [file('a.yaml', text(['# vmcp-admission: ignore[schema-enum] a\n', 5_000], CONFIG))],
  [file('a.yaml', text('x: &a [b, c]\n', [`a${ROUND}: *a\n`, 20_000]))],
  [file('a.yaml', text('x: &a { b: c }\n', [`a${ROUND}:\n  <<: *a\n`, 10_000]))],
  [file('a.yaml', text([`a${ROUND}: \${A${ROUND}} <B> {{ .C }}\n`, 10_000]))],
  [file('a.yaml', text(['{{ if .a }}\na: b\n{{ end }}\n---\n', 5_000]))],
  [file('a.yaml', text('a: "', ['x', 1_000_000], '"\n'))],
  [file('a.yaml', text('a: {', [`b${ROUND}: [c, d], `, 20_000], '}\n'))],
  [
    file(
      'kustomization.yaml',
      text('resources:\n', [`- f${ROUND}.yaml\n`, 300], 'patches:\n', [`- path: p${ROUND}.yaml\n`, 300]),
    ),
    { name: `f${ITEM}.yaml`, count: 300, parts: [text(GROUP)] },
    { name: `p${ITEM}.yaml`, count: 300, parts: [text(CONFIG)] },
  ],
  [
    {
      name: `d${ITEM}/kustomization.yaml`,
      count: 200,
      parts: [text('components: [../d', ITEM, '1]\nresources:\n', [`- .h${ROUND}/\n`, 50])],
    },
    file('a.yaml', text(GROUP)),
  ],
  [
    file(
      CONFIGURATION,
      text(
        'severities:\n',
        ['- unknown-field=error@a*\n', 2_000],
        'placeholders: [',
        ["'@@*a*@@',", 1],
        ']\n',
      ),
    ),
    file('a.yaml', text([`${CONFIG}  x: '@@A@@'\n---\n`, 500])),
  ],
  [
    file(CONFIGURATION, text('namespaces: { leaveOut: [', ["'*a*a*a*ab',", 2_000], ']}\n')),
    file('a.yaml', text([`${CONFIG}---\n`, 500])),
  ],
  [
    file(
      CONFIGURATION,
      text('exemptions:\n', [
        `- { id: schema-enum, reason: a, object: { kind: MCPExternalAuthConfig, name: 'a*${ROUND}' }, path: spec }\n`,
        1_000,
      ]),
    ),
    file('a.yaml', text([`${CONFIG}---\n`, 500])),
  ],
]

const resourcesPart = (plan: Plan, random: Random): Part => ({
  is: 'resources',
  plan,
  form: random.pick(FORMS),
  count: random.size(3_000),
})

/** A tree with one file of resources. */
export const resourceTree = (plan: Plan, random: Random): TreePlan => [
  file(`a.${random.chance(0.2) ? 'json' : 'yaml'}`, resourcesPart(plan, random)),
]

/** A random variation of the tree; `plans` are resources that may be added. */
export function mutateTree(tree: TreePlan, random: Random, plans: readonly Plan[]): TreePlan {
  const at = random.below(tree.length)
  const chosen = tree[at]
  const other = random.pick(SAMPLES)
  if (chosen === undefined) return other
  const put = (changed: FilePlan) => tree.toSpliced(at, 1, changed)
  switch (random.below(10)) {
    case 0:
      return [...tree, ...other].slice(-MOST_PLANS)
    case 1:
      return tree.length === 1 ? tree : tree.toSpliced(at, 1)
    case 2: {
      const count = Math.min(MOST_FILES, Math.ceil(chosen.count * random.pick([0.5, 2, 8])))
      const name = chosen.name.includes(ITEM)
        ? chosen.name
        : chosen.name.replace(/^(?!kustomization|vmcp)/, `f${ITEM}/`)
      return put({ ...chosen, name, count })
    }
    case 3:
      return put({
        ...chosen,
        parts: [...chosen.parts, resourcesPart(random.pick(plans), random)].slice(-MOST_PARTS),
      })
    case 4: {
      const unit = { text: random.pick(ALL_UNITS), times: random.size(60_000) }
      const fresh: Part = { is: 'text', text: [unit] }
      return put({
        ...chosen,
        parts: chosen.parts.toSpliced(random.below(chosen.parts.length + 1), 0, fresh).slice(-MOST_PARTS),
      })
    }
    default: {
      const which = random.below(chosen.parts.length)
      const part = chosen.parts[which]
      if (part === undefined) return tree
      return put({ ...chosen, parts: chosen.parts.toSpliced(which, 1, mutatePart(part, random, plans)) })
    }
  }
}

const [MOST_PLANS, MOST_PARTS] = [6, 8]

function mutatePart(part: Part, random: Random, plans: readonly Plan[]): Part {
  if (part.is === 'text') return { ...part, text: mutateText(part.text, random, ALL_UNITS) }
  switch (random.below(6)) {
    case 0:
      return { ...part, form: random.pick(FORMS) }
    case 1:
      return { ...part, count: Math.min(20_000, Math.ceil(part.count * random.pick([0.25, 2, 8]))) }
    case 2: {
      const comment = mutateText(
        part.comment ?? textOf('vmcp-admission: ignore[unknown-field] a'),
        random,
        ALL_UNITS,
      )
      return { ...part, comment }
    }
    default:
      return { ...part, plan: mutatePlan(part.plan, random, plans) }
  }
}

/** The content of a tree as text for people. */
export const describeTree = (tree: TreePlan): string =>
  tree
    .map(({ name, count, parts }) => {
      const of = count > 1 ? `${count} × ` : ''
      return `${of}${name.replaceAll(ITEM, 'N')}: ${parts.map(describePart).join(' + ')}`
    })
    .join('; ')

const describePart = (part: Part): string =>
  part.is === 'text'
    ? part.text
        .map(({ text: unit, times }) => {
          const shown = JSON.stringify(unit.replaceAll(ITEM, 'ITEM').replaceAll(ROUND, 'ROUND'))
          return times > 1 ? `${shown}×${times}` : shown
        })
        .join(' ')
        .slice(0, 400)
    : `${part.count} × ${part.plan.object.kind} as ${part.form}${part.comment === undefined ? '' : ' with comments'}`
