#!/usr/bin/env node
// A clone runs its sources. What npm installs from Git has none, because Node runs no TypeScript there: `prepare` made dist.
import { existsSync } from 'node:fs'

const sources = new URL('../src/cli/main.ts', import.meta.url)
await import(existsSync(sources) ? sources.href : '../dist/cli/main.js')
