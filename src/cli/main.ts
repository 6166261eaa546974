#!/usr/bin/env node
import { EXIT } from './output/report.ts'
import { run } from './run.ts'

// The process that reads the output may close it early, as `head` does, or the disk may be full.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') return
  process.stderr.write(`vmcp-admission: cannot write the output: ${message}\n`)
  process.exit(EXIT.unread)
})

// This is not a top-level await, because CommonJS, the format of single-file executables, does not support it.
void run(process.argv.slice(2), process.env).then((code) => {
  process.exitCode = code
  // Exits when all output is written, even if a credential plugin hangs.
  process.stdout.write('', () => setTimeout(() => process.exit(), 100).unref())
})
