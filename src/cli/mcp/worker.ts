import { parentPort, workerData } from 'node:worker_threads'
import { answer, type ToolCall } from './answer.ts'

// Without a top-level await, which CommonJS, the form of single-file executables, does not have.
void answer(workerData as ToolCall).then((given) => {
  parentPort?.postMessage(given)
  // Standard input that no call has read would hold the thread.
  process.exit()
})
