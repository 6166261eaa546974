// Loaded into each process that runs a test file, before the file: node-arg of the configuration of tap.
import { enableCompileCache } from 'node:module'
import { COMPILE_CACHE } from './compile-cache.ts'

enableCompileCache(COMPILE_CACHE.NODE_COMPILE_CACHE)

// For its coverage tap loads hooks into the programs that tests start: a third of their time. The test files alone are counted.
const { listeners } = Reflect.get(globalThis, Symbol.for('process-on-spawn@*:singletonId')) as {
  readonly listeners: unknown[]
}
listeners.length = 0
process.env.NODE_OPTIONS = process.env.NODE_OPTIONS?.replace(/"?--import=\S*@tapjs\/processinfo\S*/, '') ?? ''
