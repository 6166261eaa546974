/** The code actions for a finding: its fix, and a comment that ignores it. */
import {
  type CodeAction,
  CodeActionKind,
  type CodeActionParams,
  type Range,
  type TextEdit,
} from 'vscode-languageserver'
import type { TextDocument } from 'vscode-languageserver-textdocument'
import { allowedIgnores, problemWithIgnoredId } from '../../engine/index.ts'
import { applyFixes } from '../fix/fix-all.ts'
import { ignoreComment, REASON_TO_WRITE } from '../input/ignore-comments.ts'
import type { ReportedFinding } from '../output/report.ts'
import { diagnosticOf } from './diagnostics.ts'
import { lineAt } from './lines.ts'
import type { Workspace, WorkspaceFile } from './workspace.ts'

/** The action that applies all safe fixes of a file; editors can run it on saving. */
const FIX_ALL = `${CodeActionKind.SourceFixAll}.vmcp-admission`

export const CODE_ACTIONS = [CodeActionKind.QuickFix, FIX_ALL]

export function codeActionsAt(
  workspace: Workspace,
  file: WorkspaceFile,
  { range, context }: Pick<CodeActionParams, 'range' | 'context'>,
): CodeAction[] {
  const isWanted = (kind: string) =>
    context.only === undefined || context.only.some((only) => kind === only || kind.startsWith(`${only}.`))
  const { findings } = workspace.findingsIn(file)
  const most = Math.max(1, Math.min(MOST_FINDINGS, MOST_READ / file.text.getText().length))
  const here = findings.filter(({ line }) => isOn(range, Math.max(line - 1, 0))).slice(0, most)
  return [
    ...(isWanted(CodeActionKind.QuickFix)
      ? here.flatMap((finding) => [
          ...fixesOf(workspace, file, finding),
          ...ignoresOf(workspace, file, finding),
        ])
      : []),
    ...(isWanted(FIX_ALL) ? allFixes(file, findings) : []),
  ]
}

/** The most findings in the selected range that get code actions, because each action is tried before it is offered. */
const MOST_FINDINGS = 20
/** The most characters to parse for trying code actions; the first finding gets actions even in a longer file. */
const MOST_READ = 250_000

const isOn = ({ start, end }: Range, line: number): boolean => start.line <= line && line <= end.line

function fixesOf(workspace: Workspace, file: WorkspaceFile, finding: ReportedFinding): CodeAction[] {
  const { title = '' } = finding.fix ?? {}
  const edit = fixed(file, [finding])
  if (edit === undefined) return []
  return [
    {
      title: title.charAt(0).toUpperCase() + title.slice(1),
      kind: CodeActionKind.QuickFix,
      isPreferred: true,
      diagnostics: [diagnosticOf(workspace, file, finding)],
      edit: { changes: { [file.text.uri]: [edit] } },
    },
  ]
}

function allFixes(file: WorkspaceFile, findings: readonly ReportedFinding[]): CodeAction[] {
  const edit = fixed(file, findings)
  if (edit === undefined) return []
  const title = 'Make all safe fixes of this file'
  return [{ title, kind: FIX_ALL, edit: { changes: { [file.text.uri]: [edit] } } }]
}

/** The fixes of the findings as one edit; undefined when none can be written into the text. */
function fixed({ name, text }: WorkspaceFile, findings: readonly ReportedFinding[]): TextEdit | undefined {
  const before = text.getText()
  const texts = new Map([[name, before]])
  const { done, left } = applyFixes(texts, findings)
  // The fix of a single finding must be applied completely or not at all.
  const isMade = done.length > 0 && (findings.length > 1 || left.length === 0)
  return isMade ? difference(text, texts.get(name) ?? before) : undefined
}

/** The change of a text as one edit, from the first differing character to the last. */
function difference(text: TextDocument, after: string): TextEdit {
  const before = text.getText()
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && before[start] === after[start]) start += 1
  let end = 0
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1
  const range = { start: text.positionAt(start), end: text.positionAt(before.length - end) }
  return { range, newText: after.slice(start, after.length - end) }
}

/** The action that writes a comment to ignore a finding: offered only if the comment was tried and had that effect. */
function ignoresOf(workspace: Workspace, file: WorkspaceFile, finding: ReportedFinding): CodeAction[] {
  const { id, severity } = finding
  const allowed = allowedIgnores(workspace.judging.settings, 'comment')
  const isAllowed = allowed === 'all' || (allowed === 'warnings' && severity !== 'error')
  if (!isAllowed || problemWithIgnoredId(id) !== undefined || file.name.endsWith('.json')) return []
  const line = linesToTry(file.text, finding).find((each) => {
    const text = withLine(file.text, each, ignoreComment(id, 'a reason'))
    const { ignored } = workspace.findingsWith(file, text)
    return ignored.some((other) => isSame(other, finding))
  })
  if (line === undefined) return []
  const comment = indented(file.text, line, ignoreComment(id, REASON_TO_WRITE))
  const start = { line, character: 0 }
  return [
    {
      title: `Ignore ${id} here with a reason`,
      kind: CodeActionKind.QuickFix,
      diagnostics: [diagnosticOf(workspace, file, finding)],
      edit: { changes: { [file.text.uri]: [{ range: { start, end: start }, newText: comment }] } },
    },
  ]
}

/**
 * The lines above which a comment is tried: the line of the finding, and the line before it, which may contain the key.
 * Lines count from 0.
 */
const linesToTry = (text: TextDocument, { line }: ReportedFinding): number[] => {
  const before = Array.from({ length: line - 1 }, (_, i) => i).findLast(
    (each) => !/^\s*(#.*)?$/.test(lineAt(text, each)),
  )
  return [Math.max(line - 1, 0), ...(before === undefined ? [] : [before])]
}

const isSame = (a: ReportedFinding, b: ReportedFinding): boolean =>
  a.id === b.id && a.path === b.path && a.kind === b.kind && a.namespace === b.namespace && a.name === b.name

function withLine(text: TextDocument, line: number, content: string): string {
  const all = text.getText()
  const offset = text.offsetAt({ line, character: 0 })
  return all.slice(0, offset) + indented(text, line, content) + all.slice(offset)
}

/** A line to insert above another one, with the same indent. */
function indented(text: TextDocument, line: number, content: string): string {
  const [indent = ''] = /^ */.exec(lineAt(text, line)) ?? []
  return `${indent}${content}${text.getText().includes('\r\n') ? '\r\n' : '\n'}`
}
