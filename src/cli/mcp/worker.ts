import { parentPort, workerData } from 'node:worker_threads'
import { answer, type ToolCall } from './answer.ts'

// Uses no top-level await, because single-file executables use CommonJS, which does not support it.
void answer(workerData as ToolCall).then((given) => {
  parentPort?.postMessage(given)
  // Exits at once: standard input that the call did not read would keep the thread alive.
  process.exit()
})
