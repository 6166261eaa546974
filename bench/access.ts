import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { median, milliseconds, table } from './figures.ts'
import { bundled, folder } from './servers.ts'

const RUNS = 5

/** `access` of two states with role mappings, from the bundle, beside `check` of the old one in the same run. */
export function access(): string {
  const rows = [
    ['5 mappings, one changed', 5, withOneChanged],
    ['200 mappings, none changed', 200, (all: string[]) => all],
    ['200 mappings, one changed', 200, withOneChanged],
    ['200 mappings in the other order', 200, (all: string[]) => all.toReversed()],
  ] as const
  const measured = rows.map(([title, count, change]) => {
    const matchers = Array.from(
      { length: count },
      (_, i) => `"team-${i}" in claims.groups && !has(claims.act)`,
    )
    const old = write('old.yaml', matchers)
    const reference = timeOf('check', old)
    const time = timeOf('access', old, write('new.yaml', change(matchers)))
    return [title, milliseconds(time), (time / reference).toFixed(1)]
  })
  return table(['`access`', 'time', 'times `check` of the old state'], measured)
}

const withOneChanged = (all: string[]) =>
  all.with(Math.floor(all.length / 2), '"others" in claims.groups || claims.sub.startsWith("svc-")')

function write(name: string, matchers: readonly string[]): string {
  const file = join(folder, name)
  const roleMappings = matchers.map((matcher) => ({
    matcher,
    roleArn: `arn:aws:iam::123456789012:role/${/[\w-]+/.exec(matcher)?.[0] ?? ''}`,
  }))
  const spec = { type: 'awsSts', awsSts: { region: 'eu-west-1', roleMappings } }
  const kind = { apiVersion: 'toolhive.stacklok.dev/v1beta1', kind: 'MCPExternalAuthConfig' }
  writeFileSync(file, stringify({ ...kind, metadata: { name: 'aws' }, spec }))
  return file
}

/** Milliseconds that a command takes, its start included. */
function timeOf(...args: readonly string[]): number {
  const times = Array.from({ length: RUNS }, () => {
    const start = performance.now()
    const { status, stderr } = spawnSync(process.execPath, [bundled('cli/main.js'), ...args], {
      encoding: 'utf8',
    })
    if (status !== 0 && status !== 1) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`)
    return performance.now() - start
  })
  return median(times)
}
