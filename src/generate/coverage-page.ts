import { KINDS } from '../kinds/index.ts'
import { allRules } from '../kinds/places.ts'
import { ENGINE_IDS } from '../review/engine-ids.ts'
import type { Kind } from '../kinds/kind.ts'
import { pathText } from '../rule/path.ts'
import type { GeneratedFile } from './generated-file.ts'
import { coverageProblems } from './coverage.ts'
import { code, GENERATED, idLink, linkedDecisions, page, sourceLinks, table } from './markdown.ts'
import { alternativesOf, type Field, fieldsOf, isSecretRef, keywordsOf } from '../kinds/schema-fields.ts'
import { type Owner, type Section, type Sentence, SPECIFICATION } from './specification.ts'

const INTRODUCTION = `The specification, sentence by sentence, and what holds it; [the model](model.md) explains each section: a [rule](rules/README.md), a keyword of the schema at a
path, a default that /mutate writes, or a part of the CRD; or why nothing does. **must** marks what a single resource can
get wrong. The rows of field tables follow from the schemas. A must without an owner fails the generation of this page.`

/** docs/coverage.md: what enforces each sentence of the specification, or why nothing does. */
export function coveragePage(): GeneratedFile {
  const problems = coverageProblems()
  if (problems.length > 0) throw new Error(`coverage of the specification:\n${problems.join('\n')}`)
  const text = page([
    GENERATED,
    '# Coverage of the specification',
    INTRODUCTION,
    summary(),
    ...SPECIFICATION.flatMap(sectionText),
    '## Decisions',
    'These rules rest on decisions where the specification is silent, or beside it.',
    table(['Rule', 'Decision'], decisionRows()),
  ])
  return { path: 'docs/coverage.md', text }
}

function summary(): string {
  const sentences = SPECIFICATION.flatMap((section) => section.sentences)
  const count = (holds: (sentence: Sentence) => boolean) => String(sentences.filter(holds).length)
  const reasons = new Set(sentences.flatMap(({ because }) => (because === undefined ? [] : [because])))
  return table(
    ['Sentences', 'Number'],
    [
      ['must, all with an owner', count(({ must }) => must)],
      ['others with an owner', count(({ must, owners }) => !must && owners.length > 0)],
      ...[...reasons].map((reason) => [
        `without an owner: ${linkedDecisions(reason)}`,
        count((s) => s.because === reason),
      ]),
    ],
  )
}

function sectionText({ section, title, sentences }: Section): string[] {
  const rows = fieldRows(section)
  return [
    `## ${section} ${title}`,
    ...(sentences.length === 0 ? [] : [table(['Sentence', '', 'Held by'], sentences.map(sentenceRow))]),
    ...(rows.length === 0 ? [] : ['Fields:', table(['Field', 'Held by'], rows)]),
  ]
}

function sentenceRow({ text, must, owners, because }: Sentence): string[] {
  const holders = owners.map(ownerLink).join(', ')
  return [text, must ? '**must**' : '', owners.length === 0 ? `— ${linkedDecisions(because ?? '')}` : holders]
}

function ownerLink(owner: Owner): string {
  if ('rule' in owner) return idLink(owner.rule) + (WARNINGS.has(owner.rule) ? ' (warning)' : '')
  if ('crd' in owner) return `${code(owner.field)} in the CRD of ${owner.crd}`
  const { kind, path, keyword } = owner
  return `${keywordText(keyword)} of ${code(path)} (${kind})`
}

const WARNINGS = new Set(
  [...allRules(), ...ENGINE_IDS].filter(({ severity }) => severity === 'warning').map(({ id }) => id),
)

/** What a keyword is called where people meet it. */
function keywordText(keyword: string): string {
  if (keyword === 'default') return 'default'
  return keyword === 'properties' ? 'the field' : idLink(`schema-${keyword}`)
}

/** The rows of a section's field tables, from the objects that name it as their source. */
function fieldRows(section: string): string[][] {
  return KINDS.flatMap((kind) =>
    listedOnce(kind)
      .filter(({ holder, node }) => holder.section === section && node.newer !== true)
      .map((field) => [`${code(field.path)} of ${kind.kind}`, holdersOf(field)]),
  )
}

const SECRET = 'spec.bearerToken.tokenSecretRef'

/** The fields of a kind without the inside of a part that an earlier kind holds too, and of Secret references but one. */
function listedOnce(kind: Kind): Field[] {
  const earlier = KINDS.slice(0, KINDS.indexOf(kind)).flatMap(({ parts }) => parts.map(({ schema }) => schema))
  const repeated = kind.parts.filter(({ schema }) => earlier.includes(schema)).map(({ at }) => `${pathText(at)}.`)
  return fieldsOf(kind).filter(
    ({ path, holder }) =>
      !repeated.some((part) => path.startsWith(part)) &&
      (!isSecretRef(holder.node) || holder.path === SECRET),
  )
}

function holdersOf(field: Field): string {
  const others = alternativesOf(field.holder.node, field.name)
  const decided = (field.node.decided ?? []) as readonly string[]
  const keywords = keywordsOf(field).filter((keyword) => keyword !== 'properties')
  return [
    ...keywords.map(
      (keyword) =>
        `${keywordText(keyword)}${decided.includes(keyword) ? ` (${sourceLinks(['decision 17'])})` : ''}`,
    ),
    ...(others.length === 0 ? [] : ['required: see above']),
  ].join(', ')
}

function decisionRows(): string[][] {
  return allRules().flatMap(({ id, sources }) => {
    const decisions = sources.filter((source) => !/^\d/.test(source))
    return decisions.length === 0 ? [] : [[idLink(id), sourceLinks(decisions)]]
  })
}
