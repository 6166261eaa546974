import { structuredPatch } from 'diff'

/** The change of a file as `git apply` and `patch -p1` take it. */
export function unifiedDiff(file: string, before: string, after: string): string {
  const { hunks } = structuredPatch(file, file, before, after, undefined, undefined, { context: 3 })
  const parts = hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) =>
    [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join('\n'),
  )
  return [`--- a/${file}`, `+++ b/${file}`, ...parts, ''].join('\n')
}
