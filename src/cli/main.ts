#!/usr/bin/env node
import { EXIT } from './output/report.ts'
import { run } from './run.ts'

// The reader of the output may stop early, as `head` does; a disk may be full.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') return
  process.stderr.write(`vmcp-admission: cannot write the output: ${message}\n`)
  process.exit(EXIT.unread)
})

// Without a top-level await, which CommonJS, the form of single-file executables, does not have.
void run(process.argv.slice(2), process.env).then((code) => {
  process.exitCode = code
  // Exits although a credential plugin may hang: everything is written by now.
  process.stdout.write('', () => setTimeout(() => process.exit(), 100).unref())
})
