import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generatedFiles } from './files.ts'

/** Writes all generated files; with `--check`, lists those that are out of date, and exits with 1. */
function main(check: boolean): void {
  const stale = [...generatedFiles()].filter(({ path, text }) => read(path) !== text)
  for (const { path, text } of stale) {
    process.stderr.write(`${check ? 'stale' : 'wrote'}: ${path}\n`)
    if (!check) write(path, text)
  }
  if (check && stale.length > 0) {
    process.stderr.write('run `npm run generate` and commit the result\n')
    process.exitCode = 1
  }
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

function read(path: string): string | undefined {
  try {
    return readFileSync(ROOT + path, 'utf8')
  } catch {
    return undefined
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(ROOT + path), { recursive: true })
  writeFileSync(ROOT + path, text)
}

main(process.argv.includes('--check'))
