#!/usr/bin/env node
import { EXIT } from './output/report.ts'
import { run } from './run.ts'

// The reader of the output may close it early, as `head` does, and the disk may be full.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') return
  process.stderr.write(`vmcp-admission: cannot write the output: ${message}\n`)
  process.exit(EXIT.unread)
})

// Not a top-level await, which CommonJS, the format of single-file executables, does not support.
void run(process.argv.slice(2), process.env).then((code) => {
  process.exitCode = code
  // Exits even if a credential plugin hangs; all output is written at this point.
  process.stdout.write('', () => setTimeout(() => process.exit(), 100).unref())
})
