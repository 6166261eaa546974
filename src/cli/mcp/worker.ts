import { parentPort, workerData } from 'node:worker_threads'
import { answer, type Call } from './answer.ts'

// Without a top-level await, which CommonJS, the form of single-file executables, does not have.
void answer(workerData as Call).then((given) => {
  parentPort?.postMessage(given)
  // Standard input that no call has read would hold the thread.
  process.exit()
})
