import { structuredPatch } from 'diff'
import { visible } from '../output/visible.ts'

/** The change of a file as a diff for `git apply` and `patch -p1`. */
export function unifiedDiff(file: string, before: string, after: string): string {
  const { hunks } = structuredPatch(file, file, before, after, undefined, undefined, { context: 3 })
  const parts = hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) =>
    [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join('\n'),
  )
  return [`--- ${quoted(`a/${file}`)}`, `+++ ${quoted(`b/${file}`)}`, ...parts, ''].join('\n')
}

/**
 * A file name as git writes it in a diff. A name with control characters, quotes or backslashes is quoted. After any
 * other name with a blank, a tab marks the end, because patch would take the text after the blank for a date.
 */
function quoted(name: string): string {
  if (visible(name) === name && !/["\\]/.test(name)) return /\s/.test(name) ? `${name}\t` : name
  const bytes = Array.from(Buffer.from(name), (byte) => {
    const character = String.fromCharCode(byte)
    if (character === '"' || character === '\\') return `\\${character}`
    return byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, '0')}` : character
  })
  return `"${bytes.join('')}"`
}
