import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { median, milliseconds, table } from './figures.ts'
import { manifests } from './reviews.ts'
import { bundled, folder } from './servers.ts'

const MANY = 10_000

/** `check` of one file, and of a folder with many files in it, from the bundle. */
export async function check(): Promise<string> {
  const many = join(folder, 'manifests')
  mkdirSync(many)
  let count = 0
  for (let copy = 0; count < MANY; copy++) {
    for (const manifest of manifests('.', copy).slice(0, MANY - count)) {
      const metadata = { ...manifest.metadata, namespace: `team-${copy}` }
      writeFileSync(join(many, `${count++}.yaml`), stringify({ ...manifest, metadata }))
    }
  }
  return table(
    ['`check`', 'time', 'peak memory'],
    [
      ['1 manifest', ...measured(join(many, '0.yaml'), 9)],
      [`${MANY.toLocaleString('en')} manifests`, ...measured(many, 3)],
    ],
  )
}

function measured(path: string, runs: number): string[] {
  const peak = 'process.on("exit",()=>process.stderr.write("\\n"+process.resourceUsage().maxRSS))'
  const taken = Array.from({ length: runs }, () => {
    const start = performance.now()
    const { status, stderr } = spawnSync(
      process.execPath,
      [`--import=data:text/javascript,${peak}`, bundled('cli/main.js'), 'check', path],
      { encoding: 'utf8', maxBuffer: 2 ** 30 },
    )
    if (status !== 0 && status !== 1) throw new Error(`check ended with ${status}: ${stderr}`)
    return { time: performance.now() - start, kilobytes: Number(stderr.trim().split('\n').at(-1)) }
  })
  return [
    milliseconds(median(taken.map(({ time }) => time))),
    `${(median(taken.map(({ kilobytes }) => kilobytes)) / 1_024).toFixed(0)} MB`,
  ]
}
