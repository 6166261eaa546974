import { kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { API_VERSION } from '../kinds/index.ts'
import { causeText, type Finding } from '../review/finding.ts'
import { findingsBeforeDeployment, findingsIn } from '../review/index.ts'
import { judge } from '../review/judge.ts'
import type { SeveritySetting } from '../review/settings.ts'
import { unknownFields } from '../review/unknown-fields.ts'
import { nearest } from '../rule/nearest.ts'
import { jsonKey, pathText } from '../rule/path.ts'
import { isObject, type Resource } from '../rule/resource.ts'
import type { ReadDocument } from './load.ts'
import type { Report, Subject } from './report.ts'

export interface Judging {
  readonly group: string
  readonly namespace: string
  readonly strict: boolean
  readonly severities: readonly SeveritySetting[]
}

/** Adds to the report what is found in one document; documents of other groups are only counted. */
export function judgeDocument(file: string, document: ReadDocument, judging: Judging, report: Report): void {
  const { value } = document
  const kind = kindOf(value, judging)
  for (const note of document.notes) report.notes.push({ file, ...note })
  if (kind === undefined) {
    report.others += 1
    const hint = misspeltKind(value, judging)
    if (hint !== undefined) report.notes.push({ file, ...document.locate(['kind'], 'value'), message: hint })
    return
  }
  report.resources += 1
  const subject = subjectOf(kind, value as Resource, judging)
  const { findings, placeholders } = judging.strict
    ? { findings: findingsIn(kind, value), placeholders: [] }
    : findingsBeforeDeployment(kind, value)
  const all = [
    ...oldVersion(value as Resource),
    ...findings,
    ...unknownFields(kind, value).map(strictly(judging)),
  ]
  const settings = { mode: 'enforce', severities: judging.severities } as const
  const verdict = judge({ findings: all, value }, subject.namespace, settings, () => undefined)
  for (const finding of [...verdict.errors, ...verdict.warnings]) {
    const { error } = finding
    const target = finding.id === 'unknown-field' ? 'key' : 'value'
    report.findings.push({
      file,
      ...document.locate(error.at.map(jsonKey), target),
      severity: finding.severity,
      id: finding.id,
      path: error.at.length === 0 ? '' : pathText(error.at),
      message: causeText(finding),
      ...subject,
    })
  }
  for (const { at, text } of placeholders) {
    const message = `${pathText(at)}: not judged, because ${text} is filled in later; use --set or --env to fill it in`
    report.notes.push({ file, ...document.locate(at.map(jsonKey), 'value'), message })
  }
}

function strictly({ strict }: Judging): (finding: Finding) => Finding {
  return (finding) => (strict ? { ...finding, severity: 'error' } : finding)
}

function kindOf(value: unknown, { group }: Judging): Kind | undefined {
  if (!isObject(value) || typeof value.apiVersion !== 'string' || typeof value.kind !== 'string')
    return undefined
  return value.apiVersion.startsWith(`${group}/`) ? kindNamed.get(value.kind) : undefined
}

function misspeltKind(value: unknown, { group }: Judging): string | undefined {
  if (!isObject(value) || typeof value.kind !== 'string' || kindNamed.has(value.kind)) return undefined
  if (!String(value.apiVersion).startsWith(`${group}/`)) return undefined
  const near = nearest(value.kind, kindNamed.keys())
  return `not checked: ${value.kind} is not one of the kinds that are${near === undefined ? '' : `; did you mean '${near}'`}`
}

function subjectOf({ kind }: Kind, { metadata }: Resource, { namespace }: Judging): Subject {
  const text = (value: unknown, fallback: string) =>
    typeof value === 'string' && value !== '' ? value : fallback
  return {
    kind,
    namespace: text(metadata?.namespace, namespace),
    name: text(metadata?.name, text(metadata?.generateName, '')),
  }
}

function oldVersion({ apiVersion }: Resource): Finding[] {
  const version = String(apiVersion).split('/')[1]
  if (version === API_VERSION) return []
  const state = version === 'v1alpha1' ? 'is deprecated' : 'is not a version of these resources'
  const detail = `${version} ${state}; checked as ${API_VERSION}, write that`
  return [
    { id: 'api-version-current', severity: 'warning', error: { type: 'advice', at: ['apiVersion'], detail } },
  ]
}
