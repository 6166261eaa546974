import { pathText, withoutUserInfo } from '../../rule/index.ts'
import type { FileChange } from '../fix/fix-all.ts'
import { type Located, placeText, type Unread } from './report.ts'
import { json, visible, visiblePatch } from './visible.ts'

/** The diff of a file, without passwords in its URLs. */
export interface Patch {
  readonly file: string
  readonly diff: string
  /** Whether the diff is complete; `patch` cannot apply a diff from which a password was removed. */
  readonly isWhole: boolean
}

export interface FixReport {
  /** The diffs of the files that would change; empty when the changes were written to the files. */
  readonly patches: readonly Patch[]
  /** The changes that `patches` contain or, if the files were written, the changes that were written. */
  readonly changes: readonly FileChange[]
  /** The findings whose fix cannot be written into the text of their file. */
  readonly left: readonly Located[]
  readonly isWritten: boolean
  readonly unread: readonly Unread[]
}

export function patchOf(file: string, diff: string): Patch {
  const masked = diff.split('\n').map(withoutPassword).join('\n')
  return { file, diff: masked, isWhole: masked === diff }
}

/** A line of a diff without passwords; its first character, the type of the line, is kept. */
const withoutPassword = (line: string): string => line.slice(0, 1) + withoutUserInfo(line.slice(1))

/** Why `patch` cannot apply the printed patch; undefined when it can. */
export function problemWithPatch({ diff, isWhole }: Patch): string | undefined {
  if (isWhole && visiblePatch(diff) === diff) return undefined
  const what = isWhole
    ? 'the diff shows as escapes what a log would act upon'
    : 'the diff leaves out the user information of URLs'
  return `${what}, so patch does not take it; --write makes the changes`
}

/** The diffs, or a line for each written change. Characters that a terminal or log would interpret are escaped. */
export function fixText({ patches, changes, isWritten }: FixReport): string {
  if (!isWritten) return patches.map(({ diff }) => visiblePatch(diff)).join('')
  return changes.map((change) => `${visible(lineOf(change))}\n`).join('')
}

const lineOf = ({ file, edit, title, id }: FileChange): string =>
  `${placeText({ ...edit, file })}: ${pathText(edit.at)}: ${title}${id === '' ? '' : ` (${id})`}`

export const fixJson = ({ patches, changes, left, isWritten, unread }: FixReport): string =>
  json({
    version: 1,
    written: isWritten,
    patches: patches.map(({ file, diff, isWhole }) => ({ file, diff, whole: isWhole })),
    changes: changes.map(({ file, edit, title, id }) => ({
      file,
      line: edit.line,
      column: edit.column,
      path: pathText(edit.at),
      title,
      id: id === '' ? null : id,
    })),
    left,
    unread,
  })
