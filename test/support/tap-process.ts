// tap loads this file into each test process before the test file (`node-arg` in the tap configuration).
import { enableCompileCache } from 'node:module'
import { COMPILE_CACHE } from './compile-cache.ts'

enableCompileCache(COMPILE_CACHE.NODE_COMPILE_CACHE)

// tap measures coverage in the programs that tests start too, which takes a third of their time. Only test files are
// measured.
const { listeners } = Reflect.get(globalThis, Symbol.for('process-on-spawn@*:singletonId')) as {
  readonly listeners: unknown[]
}
listeners.length = 0
process.env.NODE_OPTIONS = process.env.NODE_OPTIONS?.replace(/"?--import=\S*@tapjs\/processinfo\S*/, '') ?? ''
