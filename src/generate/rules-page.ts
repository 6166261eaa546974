import { allRules, examplesOf, placesOf, type RulePlace } from '../kinds/places.ts'
import { ENGINE_IDS, type EngineId } from '../review/engine-ids.ts'
import { pathText } from '../rule/path.ts'
import type { Rule } from '../rule/rule.ts'
import type { GeneratedFile } from './generated-file.ts'
import { block, code, GENERATED, page, table, toYaml } from './markdown.ts'

const INTRODUCTION = `Every finding ends with the id of what it comes from, in parentheses. This page has a section for each id.
An id is \`error\` or \`warning\` by default; a setting makes it \`error\`, \`warning\` or \`off\`, for one path and for some
namespaces if need be: \`--severity ID[:PATH]=error|warning|off[@NAMESPACE,...]\`.`

const CONSTRAINTS = `The types, required fields, enums, patterns and bounds of [the fields](fields.md). Ids name the keyword, a path narrows the
setting to one field; list indexes are left out:`

const RELAXED =
  'schema-required:spec.embeddedAuthServer.storage.redis.aclUserConfig.usernameSecretRef=off\nschema-enum:spec.type=warning@team-a,team-b'

const isConstraint = ({ id }: EngineId) => id.startsWith('schema-')

/** docs/rules.md: every id that a finding can carry. */
export function rulesPage(): GeneratedFile {
  const rules = allRules()
  const engine = ENGINE_IDS.filter((id) => !isConstraint(id))
  const constraints = ENGINE_IDS.filter(isConstraint)
  const text = page([
    GENERATED,
    '# Rules',
    INTRODUCTION,
    table(
      ['Id', 'Severity', 'About', 'What must be true'],
      [
        ...rules.map((rule) => row(rule, placesOf(rule).map(placeText).join(', '))),
        ...constraints.map((id) => row(id, 'every field')),
        ...engine.map((id) => row(id, 'every kind')),
      ],
    ),
    '## Rules of the kinds',
    ...rules.flatMap(ruleSection),
    '## Constraints of the schemas',
    CONSTRAINTS,
    block('text', RELAXED),
    'A wrong JSON type (`schema-type`) cannot be relaxed: nobody could read the field. Nor can `request-kind-agrees`.',
    ...constraints.flatMap(engineSection),
    '## Ids of the engine',
    ...engine.flatMap(engineSection),
  ])
  return { path: 'docs/rules.md', text }
}

type Described = Pick<EngineId, 'id' | 'severity' | 'summary' | 'why' | 'sources'>

/** GitHub's anchors are in lower case. */
const link = (id: string) => `[${id}](#${id.toLowerCase()})`

const row = ({ id, severity, summary }: Described, about: string) => [link(id), severity, about, summary]

function placeText({ kind, at }: RulePlace): string {
  return at.length === 0 ? kind.kind : `${code(pathText(at))} of ${kind.kind}`
}

function ruleSection(rule: Rule): string[] {
  return [
    ...heading(rule),
    facts([
      ['Severity', rule.severity],
      ['Applies to', placesOf(rule).map(placeText).join(', ')],
      ...(rule.when === 'delete' ? [['Checked', 'when it is deleted'] as const] : []),
      ...(rule.reads.length === 0 ? [] : [['Reads', rule.reads.join(', ')] as const]),
      ['Sources', sources(rule.sources)],
    ]),
    ...examplesOf(rule).flatMap(({ title, resource, others, old, findings }) => [
      `${findings.length === 0 ? 'Accepted' : rule.severity === 'error' ? 'Denied' : 'Warned about'}: ${title}.`,
      yaml([...others, resource]),
      ...(old === undefined ? [] : ['What it was before:', yaml([old])]),
      ...(findings.length === 0 ? [] : [block('text', findings.join('\n'))]),
    ]),
  ]
}

function engineSection(id: EngineId): string[] {
  return [
    ...heading(id),
    facts([
      ['Severity', id.severity],
      ['Sources', sources(id.sources)],
    ]),
    ...(id.example === undefined
      ? []
      : [yaml([id.example.resource]), block('text', id.example.findings.join('\n'))]),
  ]
}

const heading = ({ id, summary, why }: Described) => [`### ${id}`, summary, why]

const facts = (rows: readonly (readonly [string, string])[]) =>
  rows.map(([name, value]) => `- ${name}: ${value}`).join('\n')

/** `2.4.1` is a section of the specification, `decision 14` speaks for itself. */
export function sources(given: readonly string[]): string {
  return given.map((source) => (/^\d/.test(source) ? `section ${source}` : source)).join(', ')
}

const yaml = (documents: readonly object[]): string =>
  block('yaml', documents.map((document) => toYaml(shortened(document) as object)).join('---\n'))

const LONGEST_TEXT = 200
const LONGEST_LIST = 12

/** The value as a reader wants it: examples of limits hold texts and lists of thousands. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string' && value.length > LONGEST_TEXT) {
    return `${value.slice(0, 40).toWellFormed()}… (${value.length} characters)`
  }
  if (Array.isArray(value)) {
    const shown = value.slice(0, value.length > LONGEST_LIST ? 2 : LONGEST_LIST).map(shortened)
    return value.length > LONGEST_LIST ? [...shown, `… (${value.length} items)`] : shown
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, shortened(field)]))
}
