#!/usr/bin/env node
// A clone runs its sources. What npm installs from Git has none, because Node runs no TypeScript there: `prepare` made dist.
import { existsSync } from 'node:fs'

const sources = new URL('../src/cli/main.ts', import.meta.url)
if (existsSync(sources) && !process.features.typescript) {
  process.stderr.write(
    `vmcp-admission: Node ${process.version} does not run the TypeScript sources of a clone: after 'npm ci' write 'npx --no-install vmcp-admission', which takes the Node of node_modules, or use Node 22.19 or later\n`,
  )
  process.exitCode = 3
} else await import(existsSync(sources) ? sources.href : '../dist/cli/main.js')
