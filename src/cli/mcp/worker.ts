import { parentPort, workerData } from 'node:worker_threads'
import { answer, type ToolCall } from './answer.ts'

// Without a top-level await, which CommonJS, the format of single-file executables, does not support.
void answer(workerData as ToolCall).then((given) => {
  parentPort?.postMessage(given)
  // Standard input that no call has read would keep the thread alive.
  process.exit()
})
