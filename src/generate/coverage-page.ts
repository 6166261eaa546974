import { KINDS } from '../kinds/index.ts'
import { allRules } from '../kinds/places.ts'
import { alternativesOf, type Field, isSecretRef, keywordsOf } from '../kinds/schema-fields.ts'
import { ENGINE_IDS } from '../engine/index.ts'
import { sourceNames } from '../rule/index.ts'
import { coverageProblems, type CoveredStatement, listedOnce, type Owner, statementsOf } from './coverage.ts'
import type { GeneratedFile } from './generated-file.ts'
import { code, GENERATED, idLink, linkedSources, page, sourceLinks, table } from './markdown.ts'
import { type Section, SECTIONS } from './specification.ts'

/** The path from contributing/ to the user documentation. */
const DOCS = '../docs/'

const INTRODUCTION = `The statements of the specification, and what holds each: a [rule](../docs/rules/README.md), keywords of the schema at a path, a default that
/mutate writes, or a part of the CRD; or why nothing does. [The model](../docs/model.md) explains each section. **must** marks what a single
resource can get wrong. The rows of field tables follow from the schemas. A must that nothing holds fails the tests.`

/** contributing/coverage.md: what enforces each sentence of the specification, or why nothing can. */
export function coveragePage(): GeneratedFile {
  const problems = coverageProblems()
  if (problems.length > 0) throw new Error(`coverage of the specification:\n${problems.join('\n')}`)
  const text = page([
    GENERATED,
    '# Coverage of the specification',
    INTRODUCTION,
    summary(),
    ...SECTIONS.flatMap(sectionText),
    '## Decisions',
    'These rules rest on decisions where the specification is silent, or beside it.',
    table(['Rule', 'Decision'], decisionRows()),
  ])
  return { path: 'contributing/coverage.md', text }
}

function summary(): string {
  const statements = SECTIONS.flatMap(({ section }) => statementsOf(section))
  const count = (isCounted: (statement: CoveredStatement) => boolean) =>
    String(statements.filter(isCounted).length)
  const reasons = new Set(statements.flatMap(({ because }) => (because === undefined ? [] : [because])))
  return table(
    ['Statements', 'Number'],
    [
      ['must, all with an owner', count(({ must }) => must)],
      ['others with an owner', count(({ must, owners }) => !must && owners.length > 0)],
      ...[...reasons].map((reason) => [
        `without an owner: ${linkedSources(reason, DOCS)}`,
        count((s) => s.because === reason),
      ]),
    ],
  )
}

function sectionText({ section, title }: Section): string[] {
  const statements = statementsOf(section)
  const rows = fieldRows(section)
  return [
    `## ${section} ${title}`,
    ...(statements.length === 0 ? [] : [table(['Statement', '', 'Held by'], statements.map(statementRow))]),
    ...(rows.length === 0 ? [] : ['Fields:', table(['Field', 'Held by'], rows)]),
  ]
}

function statementRow({ text, must, owners, because }: CoveredStatement): string[] {
  const holders = owners.map(ownerLink).join(', ')
  return [
    text,
    must ? '**must**' : '',
    owners.length === 0 ? `— ${linkedSources(because ?? '', DOCS)}` : holders,
  ]
}

function ownerLink(owner: Owner): string {
  if ('rule' in owner) return idLink(owner.rule, DOCS) + (WARNINGS.has(owner.rule) ? ' (warning)' : '')
  if ('crd' in owner) return `${code(owner.crd)} in the CRD of MCPExternalAuthConfig`
  const { kind, path, keywords } = owner
  return `${keywords.map(keywordText).join(' and ')} of ${code(path)} (${kind})`
}

const WARNINGS = new Set(
  [...allRules(), ...ENGINE_IDS].filter(({ severity }) => severity !== 'error').map(({ id }) => id),
)

/** A JSON Schema keyword as a link to the page of its id. */
function keywordText(keyword: string): string {
  if (keyword === 'default') return 'default'
  return keyword === 'properties' ? 'the fields' : idLink(`schema-${keyword}`, DOCS)
}

/** The rows of a section's field tables, from the schemas that name the section as their source. */
function fieldRows(section: string): string[][] {
  return KINDS.flatMap((kind) =>
    listedOnce(kind)
      .filter(({ holder, node }) => holder.section === section && node.newer !== true)
      .filter(({ holder }) => !isSecretRef(holder.node) || holder.path === SECRET)
      .map((field) => [`${code(field.path)} of ${kind.kind}`, holdersOf(field)]),
  )
}

/** The Secret reference whose fields are listed as an example of all others. */
const SECRET = 'spec.bearerToken.tokenSecretRef'

function holdersOf(field: Field): string {
  const others = alternativesOf(field.holder.node, field.name)
  const decided = (field.node.decided ?? []) as readonly string[]
  const keywords = keywordsOf(field).filter((keyword) => keyword !== 'properties')
  return [
    ...keywords.map(
      (keyword) =>
        `${keywordText(keyword)}${decided.includes(keyword) ? ` (${sourceLinks(['decision 17'], DOCS)})` : ''}`,
    ),
    ...(others.length === 0 ? [] : ['required: see above']),
  ].join(', ')
}

function decisionRows(): string[][] {
  return allRules().flatMap(({ id, sources }) => {
    const decisions = sourceNames(sources).filter((source) => !/^\d/.test(source))
    return decisions.length === 0 ? [] : [[idLink(id, DOCS), sourceLinks(decisions, DOCS)]]
  })
}
