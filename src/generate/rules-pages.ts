import { API_VERSION, DEFAULT_API_GROUP } from '../kinds/index.ts'
import { allRules, examplesOf, type PlacedExample, placesOf, type RulePlace } from '../kinds/places.ts'
import {
  ENGINE_IDS,
  FORMER_IDS,
  presentId,
  type EngineExample,
  type EngineId,
  FIXED,
  ignoreAnnotation,
  isStrictError,
  problemWithIgnoredId,
  STRICT,
} from '../engine/index.ts'
import { pathText, type Rule, sourceNames } from '../rule/index.ts'
import type { GeneratedFile } from './generated-file.ts'
import {
  block,
  code,
  details,
  GENERATED,
  idLink,
  page,
  sourceLinks,
  table,
  threadLinks,
  toYaml,
} from './markdown.ts'

/** Groups of rules in the index that are not about a single kind. A group about one kind has the name of that kind. */
const GROUPS: Readonly<Record<string, { readonly title: string; readonly about: string }>> = {
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

const INTRODUCTION = `Every finding ends with the id of its rule in parentheses: \`(reference-found)\`. Each id has a page: what must be true, what
happens otherwise, a wrong and a right manifest, and how to relax it. This index is by kind.
[What goes wrong in practice](../failures.md) is an index by symptom, and [rules.md](../rules.md) lists the ids by the alphabet.

- An \`error\` makes the webhook refuse the write, and \`check\` end with exit code 1.
- A \`warning\` is shown, and the write goes through: something will fail or be exposed at run time.
- \`advice\` is about production, such as storage in memory: the webhook shows it when an object is created; \`check\` and \`audit\`
  count it, and show it with \`--advice\`.

An error that the stored object already has is a warning on an update: [decision 8](../decisions.md#decision-8).`

const PROFILES = `\`--profile strict\` makes errors of these warnings, on the server, in the chart (\`profile: strict\`), in \`check\` and
in \`audit\`. It is for clusters without GitOps: with both ends of a contradiction refused, a commit that changes both needs
[two steps](../gitops.md#change-both-ends-of-a-reference). \`--severity\` goes before the profile. In \`check\` it includes
\`--strict\`, which judges placeholders as they stand. Why these: [decision 7](../decisions.md#decision-7).`

const BY_ID = `The rules by id. [The index by kind](rules/README.md) says what each asks for.`

interface Entry extends Pick<EngineId, 'id' | 'severity' | 'summary' | 'why' | 'sources'> {
  readonly about: string
  /** The group in the index that contains the id. */
  readonly group: string
  /** Facts about a rule; empty for an id that is not a rule's, such as `schema-enum`. */
  readonly facts: readonly Fact[]
  /** Whether only reviews of deletions have findings with this id. */
  readonly ofDeletions: boolean
  readonly examples: readonly string[]
}

type Fact = readonly [name: string, value: string]

/** docs/rules: a page for each id of findings, and the index by kind. docs/rules.md: all ids in alphabetical order. */
export function* rulesPages(): Iterable<GeneratedFile> {
  const entries = [...allRules().map(ruleEntry), ...ENGINE_IDS.map(engineEntry)]
  for (const entry of entries) yield { path: `docs/rules/${entry.id}.md`, text: rulePage(entry) }
  const groups = Map.groupBy(entries, ({ group }) => group)
  const index = [...groups].flatMap(([group, held]) => {
    const { title, about } = GROUPS[group] ?? aloneGroup(group)
    return [anchor(group), `## ${title}`, about, idTable(held)]
  })
  const strict = STRICT.map(({ reason, ids }) => [reason, ids.map(link).join(', ')])
  const profiles = ['## Profiles', PROFILES, table(['Why', 'An error with `--profile strict`'], strict)]
  const contents = [...groups.keys()].map(
    (group) => `- [${(GROUPS[group] ?? aloneGroup(group)).title}](#${group.toLowerCase()})`,
  )
  yield {
    path: 'docs/rules/README.md',
    text: page([GENERATED, '# Rules by kind', INTRODUCTION, contents.join('\n'), ...index, ...profiles]),
  }
  const ids = [...entries.map(({ id }) => id), ...FORMER_IDS.keys()]
    .toSorted()
    .map((id) => `- ${anchor(id)}${FORMER_IDS.has(id) ? `${id}, now ` : ''}${idLink(presentId(id))}`)
  yield { path: 'docs/rules.md', text: page([GENERATED, '# Rules by id', BY_ID, ids.join('\n')]) }
}

/** A link between pages of docs/rules. */
const link = (id: string): string => `[${id}](${id}.md)`

/** The heading and introduction of the group for rules that read only resources of this kind. */
const aloneGroup = (kind: string) => ({
  title: kind,
  about: `Rules about one ${kind} alone. [Between resources](#between-resources) has those that look at others too.`,
})

/** A table of the ids in a group. It has the column `About` only if the ids are about different kinds. */
function idTable(entries: readonly Entry[]): string {
  const differs = new Set(entries.map(({ about }) => about)).size > 1
  return table(
    ['Id', 'Severity', ...(differs ? ['About'] : []), 'What must be true'],
    entries.map(({ id, severity, about, summary }) => [
      link(id),
      severityText(id, severity),
      ...(differs ? [about] : []),
      summary,
    ]),
  )
}

function rulePage(entry: Entry): string {
  const { id, severity, summary, why, sources, about, group, facts, ofDeletions, examples } = entry
  const rows: readonly Fact[] = [
    ['Severity', severityText(id, severity)],
    ['About', about],
    ...facts,
    ['From', sourceLinks(sourceNames(sources), '../')],
  ]
  return page([
    GENERATED,
    `# ${id}`,
    summary,
    `**At run time otherwise:** ${why}`,
    rows.map(([name, value]) => `- **${name}:** ${value}`).join('\n'),
    ...examples,
    '## Relax it',
    relaxing(id, severity, ofDeletions),
    `More rules: [by kind](README.md#${group.toLowerCase()}), [by symptom](../failures.md), [by id](../rules.md).`,
  ])
}

/** A named anchor; GitHub's anchors are in lower case. */
const anchor = (id: string) => `<a id="${id.toLowerCase()}"></a>`

function placeText({ kind, at }: RulePlace): string {
  return at.length === 0 ? kind.kind : `${code(pathText(at))} of ${kind.kind}`
}

function ruleEntry(rule: Rule): Entry {
  const places = placesOf(rule)
  const about = places.map(placeText).join(', ')
  const ofDeletions = rule.when === 'delete'
  return {
    ...rule,
    ofDeletions,
    about: ofDeletions ? `${about}, when it is deleted` : about,
    group: groupOf(places, rule.reads),
    facts: [
      ...failureFacts(rule),
      ...(rule.formerIds === undefined ? [] : [['Formerly', rule.formerIds.join(', ')] as const]),
      ...releaseFacts(rule),
      ...(rule.reads.length === 0 ? [] : [['Looks at', rule.reads.join(', ')] as const]),
    ],
    examples: exampleTexts(rule),
  }
}

/** The group of a rule: its kind, if it reads only one resource, or else a key of GROUPS. */
function groupOf(places: readonly RulePlace[], reads: readonly string[]): string {
  if (places.some(({ at }) => at.length > 0)) return 'embedded-auth-server'
  const [place] = places
  return place === undefined || places.length > 1 || reads.length > 0 ? 'between-resources' : place.kind.kind
}

/** The first invalid manifest and the most similar valid one; other examples are listed by their titles. */
function exampleTexts(rule: Rule): string[] {
  const examples = examplesOf(rule)
  const wrong = examples.find(({ findings }) => findings.length > 0)
  const right = mostLike(
    wrong,
    examples.filter(({ findings }) => findings.length === 0),
  )
  const others = examples.filter((each) => each !== wrong && each !== right)
  const lines = others.map(({ title, findings }) =>
    [`- ${verdictOf(rule, findings)}: ${title}`, ...findings.map((text) => `  - ${code(text)}`)].join('\n'),
  )
  const more = `${lines.join('\n')}\n\n\`vmcp-admission explain ${rule.id}\` prints the manifests.`
  return [
    ABBREVIATED,
    ...(wrong ? ['## Wrong', exampleText(wrong, rule)] : []),
    ...(right ? ['## Right', exampleText(right, rule)] : []),
    ...(others.length === 0 ? [] : [details(`${others.length} more`, more)]),
  ]
}

const ABBREVIATED = 'The manifests leave out `apiVersion` and the namespace.'

function failureFacts({ failure }: Rule): Fact[] {
  if (failure === undefined) return []
  const { symptom, releases, threads = [] } = failure
  const seen = releases === undefined ? symptom : `${symptom} (${releases})`
  return [
    ['Seen as', seen],
    ...(threads.length === 0 ? [] : [['Reported in', threadLinks(threads)] as const]),
  ]
}

function releaseFacts({ appliesTo }: Rule): Fact[] {
  if (appliesTo === undefined) return []
  const { from, to, orUnknown = false } = appliesTo
  const text =
    from === undefined
      ? `up to ${to}`
      : to === undefined
        ? `from ${from} on, ${orUnknown ? 'and where none' : 'where it'} is known`
        : `${from} to ${to}`
  return [['Counts with operator releases', text]]
}

/** The valid example that has the most lines in common with the invalid one, so that the difference is clear. */
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

function exampleText(example: PlacedExample, rule: Rule): string {
  const { title, old, findings } = example
  return [
    `${verdictOf(rule, findings)}: ${title}.`,
    block('yaml', manifests(example)),
    ...(old === undefined ? [] : ['Stored before:', block('yaml', manifest(old))]),
    ...findings.map((text) => code(text)),
  ].join('\n\n')
}

const verdictOf = ({ severity }: Rule, findings: readonly string[]): string =>
  findings.length === 0 ? 'Accepted' : severity === 'error' ? 'Refused' : 'Warned about'

function engineEntry(id: EngineId): Entry {
  const group = /^(?:schema|probe)(?=-)/.exec(id.id)?.[0] ?? 'engine'
  const about = group === 'schema' ? 'every field' : 'every kind'
  return {
    ...id,
    about,
    group,
    facts: [],
    ofDeletions: false,
    examples: id.example ? engineExample(id.example) : [],
  }
}

const engineExample = ({ resource, findings, corrected }: EngineExample): string[] => [
  ABBREVIATED,
  '## Wrong',
  block('yaml', manifest(resource)),
  ...findings.map((text) => code(text)),
  '## Right',
  block('yaml', manifest(corrected)),
]

const severityText = (id: string, severity: string) =>
  isStrictError(id) ? `${severity}; with [\`--profile strict\`](README.md#profiles) error` : severity

function relaxing(id: string, severity: string, ofDeletions: boolean): string {
  if (FIXED.has(id)) return 'It is always an error.'
  const choices =
    severity === 'error' ? ['warning', 'off'] : severity === 'warning' ? ['off', 'error'] : ['off', 'warning']
  const flags = choices.map((choice) => code(`--severity ${id}=${choice}`)).join(' or ')
  const severities = `- For everything: ${flags}, or the same under \`severities\` of [the configuration file](../configuration.md).
  \`ID:PATH=…\` narrows it to a field, \`…@NAMESPACE\` to namespaces.`
  if (problemWithIgnoredId(id) !== undefined) return severities
  // The review of a deletion has the stored object, in which comments are gone.
  const one = ofDeletions
    ? `- For one object: ${code(`${ignoreAnnotation(DEFAULT_API_GROUP)}: '${id}: why'`)} in its [annotations](../configuration.md#in-a-manifest).`
    : `- For one manifest: ${code(`# vmcp-admission: ignore[${id}] why`)} above [the line](../configuration.md#in-a-manifest).`
  return `${severities}
- For some objects, with a reason: an [exemption](../configuration.md#exemptions).
${one}`
}

/** The manifests of an example: first the other resources, then the judged one. */
const manifests = ({ resource, others }: PlacedExample): string =>
  [...others, resource].map(manifest).join('---\n')

/** A resource as YAML, without the fields that all examples have in common. */
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

/** Shortens long texts and lists: examples of limits have texts of thousands of characters, and lists as long. */
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
