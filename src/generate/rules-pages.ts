import { API_VERSION, DEFAULT_API_GROUP } from '../kinds/index.ts'
import { allRules, examplesOf, type PlacedExample, placesOf, type RulePlace } from '../kinds/places.ts'
import { rulePageOf } from '../review/documentation.ts'
import { ENGINE_IDS, type EngineId } from '../review/engine-ids.ts'
import { isStrictError, STRICT } from '../review/profiles.ts'
import { FIXED } from '../review/settings.ts'
import { pathText } from '../rule/path.ts'
import { type Rule, sourceNames } from '../rule/rule.ts'
import type { GeneratedFile } from './generated-file.ts'
import {
  block,
  code,
  details,
  GENERATED,
  page,
  sideBySide,
  sourceLinks,
  table,
  threadLinks,
  toYaml,
} from './markdown.ts'

/** The pages in docs/rules that are not about one kind; the others are named by their kind. */
const PAGES: Readonly<Record<string, { readonly title: string; readonly about: string }>> = {
  'embedded-auth-server': {
    title: 'The embedded authorization server',
    about:
      'Rules about `spec.embeddedAuthServer` of an MCPExternalAuthConfig and `spec.authServerConfig` of a VirtualMCPServer, which have the same fields.',
  },
  'between-resources': {
    title: 'Between resources',
    about: `Rules that look at other resources of the namespace too, at what is stored, or at a deletion. The webhook reads the
other resource from the API server before it refuses anything because of it. In a dry run such an error is a warning,
because the other resource may be in the same commit: [decision 9](../decisions.md#decision-9).`,
  },
  schema: {
    title: 'The schemas',
    about: `Types, required fields, enums, patterns and bounds of [the fields](../fields.md). An id names the keyword. A path narrows
a setting to one field; list indexes are left out:

${block('text', "--severity schema-enum:spec.type=warning@team-a,team-b\n--severity 'schema-required:spec.outgoingAuth.backends.<name>.type=off'")}

A wrong JSON type (\`schema-type\`) cannot be relaxed, because no rule could read the field.`,
  },
  engine: {
    title: 'Reading and identifying resources',
    about: 'Findings that come from the way a resource is read, not from its fields.',
  },
  probe: {
    title: 'The other side',
    about:
      'Findings of `vmcp-admission probe`, which asks the addresses that resources name: [docs/probe.md](../probe.md). No other command has them, and the webhook asks nobody.',
  },
}

const ABBREVIATED = `The manifests on this page leave out \`apiVersion\` and the namespace; \`vmcp-admission explain ID\` prints them in full.`

const INTRODUCTION = `Every finding ends with the id of its rule in parentheses: \`(reference-found)\`. This page lists the ids;
each leads to what must be true, what happens at run time otherwise, a wrong and a right manifest, and how to relax it.
[rules.md](../rules.md) lists the same ids by the alphabet.

- An \`error\` makes the webhook refuse the write, and \`check\` end with exit code 1. A \`warning\` is shown, and the write goes through:
  something will fail or be exposed at run time. \`advice\` is about production, such as storage in memory: the webhook tells it when an
  object is created, \`check\` and \`audit\` count it, and show it with \`--advice\`.
- \`--severity ID[:PATH]=error|warning|advice|off[@NAMESPACE,...]\` changes the severity, for one field and for some namespaces
  if need be, on [the server](../server.md#change-the-severity-of-a-rule) and in the CLI.
- An error that the stored object already has is a warning on an update: [decision 8](../decisions.md#decision-8).`

const PROFILES = `\`--profile strict\` makes errors of these warnings, on the server, in the chart (\`profile: strict\`), in \`check\` and
in \`audit\`. It is for clusters without GitOps: with both ends of a contradiction refused, a commit that changes both needs
[two steps](../gitops.md#change-both-ends-of-a-reference). \`--severity\` goes before the profile. In \`check\` it includes
\`--strict\`, which judges placeholders as they stand. Why these: [decision 7](../decisions.md#decision-7).`

const BY_ID = `The rules by id. [The index by kind](rules/README.md) says what each asks for.`

interface Entry extends Pick<EngineId, 'id' | 'severity' | 'summary' | 'why' | 'sources'> {
  readonly about: string
  readonly section: readonly string[]
}

/** docs/rules: every id that a finding can carry, on a page for each kind or part; docs/rules.md: the ids by the alphabet. */
export function* rulesPages(): Iterable<GeneratedFile> {
  const entries = [...allRules().map(ruleEntry), ...ENGINE_IDS.map(engineEntry)]
  const pages = Map.groupBy(entries, ({ id }) => rulePageOf(id))
  for (const [name, held] of pages) {
    const { title, about } = pageOf(name, held)
    const text = page([
      GENERATED,
      `# ${title}`,
      about,
      ABBREVIATED,
      idTable(held, ''),
      ...held.flatMap(({ section }) => section),
    ])
    yield { path: `docs/rules/${name}.md`, text }
  }
  const index = [...pages].flatMap(([name, held]) => [
    `## [${pageOf(name, held).title}](${name}.md)`,
    idTable(held, `${name}.md`),
  ])
  const all = new Map(entries.map(({ id }) => [id, `[${id}](${rulePageOf(id)}.md#${id.toLowerCase()})`]))
  const strict = STRICT.map(({ reason, ids }) => [reason, ids.map((id) => all.get(id)).join(', ')])
  const profiles = ['## Profiles', PROFILES, table(['Why', 'An error with `--profile strict`'], strict)]
  yield {
    path: 'docs/rules/README.md',
    text: page([GENERATED, '# Rules', INTRODUCTION, ...profiles, ...index]),
  }
  const ids = entries
    .map(({ id }) => id)
    .toSorted()
    .map((id) => `- ${anchor(id)}[${id}](rules/${rulePageOf(id)}.md#${id.toLowerCase()})`)
  yield { path: 'docs/rules.md', text: page([GENERATED, '# Rules by id', BY_ID, ids.join('\n')]) }
}

function pageOf(name: string, [first]: readonly Entry[]): { title: string; about: string } {
  const given = PAGES[name]
  if (given) return given
  const kind = first?.about ?? name
  const about = `Rules about one ${kind} alone. [Between resources](between-resources.md) has those that look at others too${
    ['MCPExternalAuthConfig', 'VirtualMCPServer'].includes(kind)
      ? ', and [the embedded authorization server](embedded-auth-server.md) those about that part'
      : ''
  }.`
  return { title: kind, about }
}

/** The ids of a page; what they are about only where that differs. */
function idTable(entries: readonly Entry[], file: string): string {
  const differs = new Set(entries.map(({ about }) => about)).size > 1
  return table(
    ['Id', 'Severity', ...(differs ? ['About'] : []), 'What must be true'],
    entries.map(({ id, severity, about, summary }) => [
      `[${id}](${file}#${id.toLowerCase()})`,
      severityText(id, severity),
      ...(differs ? [about] : []),
      summary,
    ]),
  )
}

/** GitHub's anchors are in lower case. */
const anchor = (id: string) => `<a id="${id.toLowerCase()}"></a>`

function placeText({ kind, at }: RulePlace): string {
  return at.length === 0 ? kind.kind : `${code(pathText(at))} of ${kind.kind}`
}

function ruleEntry(rule: Rule): Entry {
  const about = placesOf(rule).map(placeText).join(', ')
  const examples = examplesOf(rule)
  const wrong = examples.find(({ findings }) => findings.length > 0)
  const right = mostLike(
    wrong,
    examples.filter(({ findings }) => findings.length === 0),
  )
  const others = examples.filter((each) => each !== wrong && each !== right)
  const section = [
    ...heading(rule, [
      ['About', rule.when === 'delete' ? `${about}, when it is deleted` : about],
      ...failureFacts(rule),
      ...(rule.reads.length === 0 ? [] : [['Looks at', rule.reads.join(', ')] as const]),
    ]),
    ...(wrong && right ? [sideBySide(exampleText(wrong, rule), exampleText(right, rule))] : []),
    ...(others.length === 0
      ? []
      : [
          details(
            `More examples (${others.length})`,
            others.map((each) => exampleText(each, rule)).join('\n\n'),
          ),
        ]),
  ]
  return { ...rule, about, section }
}

function failureFacts({ failure }: Rule): (readonly [string, string])[] {
  if (failure === undefined) return []
  const { symptom, releases, threads } = failure
  const seen = releases === undefined ? symptom : `${symptom} (${releases})`
  return [
    ['Seen as', seen],
    ...(threads.length === 0 ? [] : [['Reported in', threadLinks(threads)] as const]),
  ]
}

/** The accepted example that shares most lines with the wrong one: what differs is what matters. */
function mostLike(
  wrong: PlacedExample | undefined,
  accepted: readonly PlacedExample[],
): PlacedExample | undefined {
  const lines = wrong === undefined ? [] : manifests(wrong).split('\n')
  const differing = (each: PlacedExample) => {
    const others = manifests(each).split('\n')
    return [...lines, ...others].filter((line) => !lines.includes(line) || !others.includes(line)).length
  }
  return accepted.toSorted((a, b) => differing(a) - differing(b))[0]
}

function exampleText(example: PlacedExample, { severity }: Rule): string {
  const { title, old, findings } = example
  const verdict = findings.length === 0 ? 'Accepted' : severity === 'error' ? 'Refused' : 'Warned about'
  return [
    `**${verdict}:** ${title}`,
    block('yaml', manifests(example)),
    ...(old === undefined ? [] : ['Stored before:', block('yaml', manifest(old))]),
    ...findings.map((text) => code(text)),
  ].join('\n\n')
}

function engineEntry(id: EngineId): Entry {
  const about = id.id.startsWith('schema-') ? 'every field' : 'every kind'
  const section = [...heading(id, [['About', about]])]
  if (id.example) {
    const { resource, findings, corrected } = id.example
    const wrong = ['**Wrong:**', block('yaml', manifest(resource)), ...findings.map((text) => code(text))]
    section.push(sideBySide(wrong.join('\n\n'), `**Right:**\n\n${block('yaml', manifest(corrected))}`))
  }
  return { ...id, about, section }
}

function heading(
  { id, severity, summary, why, sources }: Omit<Entry, 'about' | 'section'>,
  facts: readonly (readonly [string, string])[],
): string[] {
  const rows = [
    ['Severity', severityText(id, severity)],
    ['At run time otherwise', why],
    ...facts,
    ['To change it', relaxing(id, severity)],
    ['From', sourceLinks(sourceNames(sources), '../')],
  ] as const
  return [`## ${id}`, summary, rows.map(([name, value]) => `- **${name}:** ${value}`).join('\n')]
}

const severityText = (id: string, severity: string) =>
  isStrictError(id) ? `${severity}; with [\`--profile strict\`](README.md#profiles) error` : severity

function relaxing(id: string, severity: string): string {
  if (FIXED.has(id)) return 'not possible, it is always an error'
  const choices =
    severity === 'error' ? ['warning', 'off'] : severity === 'warning' ? ['off', 'error'] : ['off', 'warning']
  return choices.map((choice) => code(`--severity ${id}=${choice}`)).join(' or ')
}

/** The manifests of an example: the other resources, then the resource itself. */
const manifests = ({ resource, others }: PlacedExample): string =>
  [...others, resource].map(manifest).join('---\n')

/** A resource as YAML, without what all examples share. */
function manifest(resource: object): string {
  const { apiVersion, kind, metadata, ...rest } = resource as Manifest
  const isUsual = ['v1', `${DEFAULT_API_GROUP}/${API_VERSION}`].includes(apiVersion)
  const { namespace, ...named } = metadata
  return toYaml(
    shortened({
      ...(!isUsual && { apiVersion }),
      kind,
      metadata: namespace === 'default' ? named : metadata,
      ...rest,
    }) as object,
  )
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Readonly<Record<string, unknown>>
}

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
