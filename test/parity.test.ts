import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { judgeDocument } from '../src/cli/commands/judge-document.ts'
import { loadDocuments } from '../src/cli/input/load.ts'
import { IN_CLUSTER, openReport, type Report } from '../src/cli/output/report.ts'
import { DEFAULT_API_GROUP, kindNamed } from '../src/kinds/index.ts'
import { examplesAt, rulePlaces } from '../src/kinds/places.ts'
import { causeText } from '../src/rule/finding.ts'
import { DEFAULT_SETTINGS } from '../src/engine/settings.ts'
import { pathText } from '../src/rule/path.ts'
import type { ClusterState } from '../src/state/cluster-state.ts'
import { judgeOf, submissionOf } from './support/review.ts'
import { stateOf } from './support/cluster-state.ts'

interface Found {
  readonly severity: string
  readonly id: string
  readonly path: string
  readonly message: string
}

/** The rules that only the CLI applies (decisions 1 and 2). */
const OF_FILES = new Set(['unknown-field', 'api-version-current', 'api-group-known'])
/** A note that only the CLI gives, when the release is unknown: the object has fields of newer releases. */
const OF_RELEASES = /: of operator release .* and later;/
/** A rule of the webhook that the CLI applies only with `--strict` (decision 28). */
const UNRESOLVED = 'unresolved-placeholder'

function byWebhook(object: unknown, state: ClusterState): Found[] {
  const { kind, metadata } = object as { kind: string; metadata?: { name?: string; namespace?: string } }
  const { name = '', namespace = 'default' } = metadata ?? {}
  const submission = submissionOf(kind, object, { name, namespace })
  const { errors, warnings } = judgeOf({ state }).admit(submission)
  return [...errors, ...warnings].map((finding) => ({
    severity: finding.severity,
    id: finding.id,
    path: finding.error.at.length === 0 ? '' : pathText(finding.error.at),
    message: causeText(finding),
  }))
}

function byCli(text: string, strict: boolean, state: ClusterState): { findings: Found[]; report: Report } {
  const report = openReport({})
  const judging = { group: DEFAULT_API_GROUP, namespace: 'default', strict, settings: DEFAULT_SETTINGS }
  for (const document of loadDocuments(text)) {
    if ('error' in document) report.unread.push({ file: 'a', ...document.error })
    else
      judgeDocument('a', document, judging, { judge: judgeOf({ state }), placeOf: () => IN_CLUSTER }, report)
  }
  const findings = report.findings
    .filter(({ id }) => !OF_FILES.has(id))
    .map(({ severity, id, path, message }) => ({ severity, id, path, message }))
  const notes = report.notes.filter(({ message }) => !OF_RELEASES.test(message))
  return { findings, report: { ...report, notes } }
}

/**
 * Compares the verdicts of the webhook and the CLI about a resource, as JSON and as YAML. Returns whether it contains a
 * placeholder.
 */
function compare(t: Tap, resource: unknown, title: string, others: readonly unknown[] = []): boolean {
  const state = stateOf(others)
  const expected = byWebhook(resource, state)
  const json = JSON.stringify(resource)
  const yaml = stringify(resource, { aliasDuplicateObjects: false, lineWidth: 0 })
  for (const [form, text] of Object.entries({ json, yaml })) {
    const strict = byCli(text, true, state)
    t.strictSame([strict.report.unread, strict.report.notes], [[], []], `${title}, ${form}: is read`)
    t.strictSame(strict.findings, expected, `${title}, ${form}, strict`)
    const { findings, report } = byCli(text, false, state)
    const known = expected.filter(({ id }) => id !== UNRESOLVED)
    if (report.notes.length === 0) t.strictSame(findings, known, `${title}, ${form}`)
    else t.strictSame(without(findings, known), [], `${title}, ${form}: nothing more than the webhook`)
  }
  return expected.some(({ id }) => id === UNRESOLVED)
}

type Tap = Pick<typeof t, 'strictSame'>

const without = (some: readonly Found[], all: readonly Found[]) => {
  const texts = new Set(all.map((found) => JSON.stringify(found)))
  return some.filter((found) => !texts.has(JSON.stringify(found)))
}

t.test('every example of every rule: the CLI finds what the webhook finds', async (t) => {
  let compared = 0
  for (const place of rulePlaces()) {
    const { rule, kind } = place
    for (const { title, resource, others } of examplesAt(place)) {
      compare(t, resource, `${rule.id} on ${kind.kind}: ${title}`, others)
      compared += 1
    }
  }
  t.ok(compared > 200, `${compared} examples`)
})

t.test('the files of examples/', async (t) => {
  const folder = new URL('../examples/', import.meta.url).pathname
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.yaml'),
  )
  t.ok(files.length > 20)
  for (const file of files) {
    for (const document of loadDocuments(readFileSync(join(folder, file), 'utf8'))) {
      const { value } = document as { value: { kind: string } }
      if (kindNamed.has(value.kind)) compare(t, value, file)
    }
  }
})

t.test('a placeholder is the one difference, and none with --strict', async (t) => {
  const role = 'arn:aws:iam::123456789012:role/reader'
  const spec = (awsSts: object) => ({ type: 'awsSts', awsSts: { region: 'eu-central-1', ...awsSts } })
  const rows: [string, unknown][] = [
    ['in a pattern', spec({ region: '${REGION}', fallbackRoleArn: role })],
    ['as an integer', spec({ sessionDuration: '${DURATION}', fallbackRoleArn: role })],
    ['in an enum', { type: '<TYPE>', awsSts: { region: 'x' } }],
    ['in a matcher', spec({ roleMappings: [{ roleArn: role, matcher: '${CLAIM} ==', priority: -1 }] })],
    ['beside a claim', spec({ roleMappings: [{ roleArn: role, claim: 'a', matcher: '<MATCHER>' }] })],
    [
      'as a name',
      { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: '{{ .Secret }}', key: '' } } },
    ],
    ['as a whole object', { type: 'awsSts', awsSts: '${AWS}' }],
    ['as the whole spec', '${SPEC}'],
  ]
  for (const [title, spec] of rows) {
    const resource = {
      apiVersion: `${DEFAULT_API_GROUP}/v1beta1`,
      kind: 'MCPExternalAuthConfig',
      metadata: { name: 'example' },
      spec,
    }
    t.ok(compare(t, resource, title) || title.startsWith('as '), `${title}: the webhook warns`)
    t.ok(
      byCli(JSON.stringify(resource), false, stateOf([])).report.notes.length > 0,
      `${title}: the CLI notes it`,
    )
  }
})
