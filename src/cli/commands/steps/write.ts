import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { UsageError } from '../../../configuration/flags.ts'
import type { StepsPlan } from '../../../steps/plan.ts'
import { visible } from '../../output/visible.ts'

/** Throws UsageError unless the folder is empty or missing. */
export function needEmptyFolder(folder: string): void {
  if (!existsSync(folder)) return
  if (!statSync(folder).isDirectory()) throw new UsageError(`--write needs a folder, and ${folder} is a file`)
  if (readdirSync(folder).length > 0)
    throw new UsageError(`--write needs an empty folder, and ${folder} is not`)
}

/** Writes `1/apply.yaml` and `1/delete.yaml` for the first commit and so on, in the order of the steps. */
export function writeCommits({ steps, commits }: StepsPlan, folder: string): void {
  for (let commit = 1; commit <= commits; commit++) {
    const own = steps.filter((step) => step.commit === commit)
    const applied = own.flatMap(({ value }) => (value === undefined ? [] : [value]))
    const deleted = own.flatMap(({ value, before }) => (value === undefined ? [identity(before)] : []))
    const place = join(folder, String(commit))
    mkdirSync(place, { recursive: true })
    for (const [name, values] of [
      ['apply.yaml', applied],
      ['delete.yaml', deleted],
    ] as const) {
      if (values.length === 0) continue
      const path = join(place, name)
      writeFileSync(path, values.map((value) => stringify(value, { lineWidth: 0 })).join('---\n'))
      process.stderr.write(`${visible(path)}\n`)
    }
  }
}

function identity(value: unknown): unknown {
  const { apiVersion, kind, metadata } = value as {
    readonly apiVersion: unknown
    readonly kind: unknown
    readonly metadata: { readonly name: unknown; readonly namespace?: unknown }
  }
  return { apiVersion, kind, metadata: { name: metadata.name, namespace: metadata.namespace } }
}
