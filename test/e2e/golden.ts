import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Test } from 'tap'
import type { ApiServer } from './api-server.ts'
import { ROOT } from './cluster.ts'

const UPDATE = process.env.UPDATE_GOLDEN === '1'

/**
 * Compares the text with `test/golden/NAME`. With UPDATE_GOLDEN=1 it writes the file instead, which must be read before
 * it is committed.
 */
export async function matchesGolden(t: Test, name: string, found: string): Promise<void> {
  const file = `${ROOT}test/golden/${name}`
  if (UPDATE) {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, found)
  }
  const wanted = await readFile(file, 'utf8').catch(() => '')
  t.equal(found, wanted, `test/golden/${name} (UPDATE_GOLDEN=1 rewrites it)`)
}

/** The output of these kubectl commands as a user sees it. Port numbers, which vary, are replaced. */
export async function transcript(api: ApiServer, commands: readonly (readonly string[])[]): Promise<string> {
  const parts: string[] = []
  for (const args of commands) {
    const { stdout, stderr, code } = await api.kubectl(args)
    const warnings = stderr.match(/^Warning: .*\n/gm)?.join('') ?? ''
    const errors = stderr.replace(/^Warning: .*\n/gm, '')
    const exit = code === 0 ? '' : `(exit code ${code})\n`
    parts.push(`$ kubectl ${args.map(quoted).join(' ')}\n${warnings}${stdout}${errors}${exit}`)
  }
  return parts.join('\n').replace(/\b127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
}

/** The argument, quoted for a shell if needed. */
function quoted(argument: string): string {
  return /^[\w./=:-]+$/.test(argument) ? argument : `'${argument}'`
}
