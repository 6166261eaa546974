import { pathToFileURL } from 'node:url'
import type { Location, Log, Notification, ReportingDescriptor, Result, Suppression } from 'sarif'
import manifest from '../../../package.json' with { type: 'json' }
import { fingerprints } from './fingerprint.ts'
import { describedAs, idPage } from './id-page.ts'
import { ignoredIn, shownIn } from './line.ts'
import {
  type Format,
  type Located,
  type ReportedFinding,
  type ReportedIgnored,
  slashed,
  type GivenSubject,
} from './report.ts'
import { json, sarifMessage } from './visible.ts'

const LEVELS = { error: 'error', warning: 'warning', advice: 'note' } as const

export const printSarif: Format = (report, printing) =>
  sarifLog({
    findings: [...shownIn(report, printing), ...ignoredIn(report, printing)],
    unread: report.unread,
    notJudged: report.notJudged,
    notes: printing.quiet ? [] : report.notes,
  })

/** The content of a SARIF log of a run. */
interface Run {
  readonly findings: readonly (ReportedFinding | ReportedIgnored)[]
  readonly unread: readonly Located[]
  readonly notJudged: readonly Located[]
  readonly notes: readonly Located[]
}

/** A SARIF 2.1.0 log for code scanning. https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html */
export function sarifLog({ findings, unread, notJudged, notes }: Run): string {
  const ids = [...new Set(findings.map(({ id }) => id))].sort()
  const prints = fingerprints(findings)
  const results = findings.map((finding, i): Result => {
    const { id, severity, kind, name, path, message, related } = finding
    return {
      ruleId: id,
      ruleIndex: ids.indexOf(id),
      level: LEVELS[severity],
      message: { text: sarifMessage(`${kind} ${name}: ${path === '' ? '' : `${path}: `}${message}`) },
      locations: [locationOf(finding)],
      ...(related.length === 0
        ? {}
        : {
            relatedLocations: related.map((end, id) => ({
              id,
              ...locationOf(end),
              message: { text: sarifMessage(`${end.kind} ${end.name}: ${end.path} ${end.message}`) },
            })),
          }),
      partialFingerprints: { 'vmcpAdmission/v1': prints[i] ?? '' },
      ...('by' in finding && { suppressions: [suppressionOf(finding)] }),
    }
  })
  const log: Log = {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: manifest.name,
            semanticVersion: manifest.version,
            rules: ids.map(ruleOf),
          },
        },
        columnKind: 'unicodeCodePoints',
        invocations: [
          {
            executionSuccessful: unread.length === 0,
            toolExecutionNotifications: [
              ...unread.map((each) => notificationOf(each, 'error')),
              ...notJudged.map((each) => notificationOf(each, 'warning')),
              ...notes.map((each) => notificationOf(each, 'note')),
            ],
          },
        ],
        results,
      },
    ],
  }
  return json(log)
}

const suppressionOf = ({ by, reason }: ReportedIgnored): Suppression => ({
  kind: by === 'configuration' ? 'external' : 'inSource',
  justification: reason,
})

/**
 * The SARIF rule for changes that the command `access` reports. It is not a rule of this project, because neither the
 * old nor the new access is wrong.
 */
const ACCESS_CHANGE = {
  severity: 'warning',
  summary: 'A caller gets another role after the change than before, or one or none.',
  why: 'The claims of the example are decided differently by the two states, as cel-go evaluates them. docs/access.md says what is proved.',
} as const

function ruleOf(id: string): ReportingDescriptor {
  const { summary, why, severity } = describedAs(id) ?? ACCESS_CHANGE
  const page = (idPage(id) ?? [summary, why]).join('\n')
  return {
    id,
    shortDescription: { text: summary },
    fullDescription: { text: `${summary} ${why}` },
    defaultConfiguration: { level: LEVELS[severity] },
    help: { text: page, markdown: `\`\`\`text\n${page}\n\`\`\`` },
  }
}

const notificationOf = (each: Located, level: 'error' | 'warning' | 'note'): Notification => ({
  level,
  message: { text: sarifMessage(each.message) },
  ...(each.file === null ? {} : { locations: [{ physicalLocation: physicalLocationOf(each) }] }),
})

const locationOf = (at: Located & GivenSubject & { readonly path: string }): Location => ({
  ...(at.file === null ? {} : { physicalLocation: physicalLocationOf(at) }),
  logicalLocations: [
    {
      fullyQualifiedName: `${at.namespace}/${at.kind}/${at.name}${at.path === '' ? '' : `: ${at.path}`}`,
      kind: 'resource',
    },
  ],
})

function physicalLocationOf({ file, line, column }: Located) {
  return {
    artifactLocation: { uri: uriOf(file ?? '') },
    ...(line === 0 ? {} : { region: { startLine: line, startColumn: Math.max(1, column) } }),
  }
}

/** The URI of a file; a relative path stays relative: code scanning reads it from the top of the repository. */
function uriOf(file: string): string {
  const path = slashed(file)
  if (/^(?:\/|[A-Za-z]:\/)/.test(path)) return pathToFileURL(file).href
  return path.split('/').map(encodeURIComponent).join('/')
}
