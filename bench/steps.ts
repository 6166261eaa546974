/**
 * Compares the plans of `steps` for small random changes with every order; then brings random pairs of states into a real API
 * server with the webhook, step by step as planned. Prints the counts, what a plan says wrongly, and pairs in which a step was
 * refused or a backend lost credentials.
 * Run: npm run prove:steps -- [COUNT] [SEED]; it needs KUBEBUILDER_ASSETS (see contributing/tests.md).
 */
import { startApiServer } from '../test/e2e/api-server.ts'
import { called, installCrds, register } from '../test/e2e/cluster.ts'
import { createNamespaces } from '../test/e2e/resources.ts'
import { runPair, throughTheApi } from '../test/e2e/step-runs.ts'
import { startServer } from '../test/support/server.ts'
import { compareWithEveryOrder } from '../test/support/every-order.ts'
import { RandomStates } from '../test/support/step-pairs.ts'

const count = Number(process.argv[2] ?? 1_000)
const seed = Number(process.argv[3] ?? 1)
const random = new RandomStates(seed)
const AT_ONCE = 3

const compared = compareWithEveryOrder(count, seed, (text) => process.stdout.write(text))
process.stdout.write(`every order: ${JSON.stringify(compared)}\n`)

const api = await startApiServer()
const counts = {
  pairs: 0,
  notStored: 0,
  steps: 0,
  order: 0,
  withVersionsBetween: 0,
  harm: 0,
  other: 0,
  wrong: 0,
}
const outcomes = {
  order: 'order',
  harm: 'harm',
  nothing: 'other',
  refused: 'other',
  contradiction: 'other',
} as const
try {
  await installCrds(api, 'crds')
  const server = await startServer(['--kubeconfig', api.kubeconfig])
  try {
    await register(api, server)
    await called(api, server)
    const pairs = Array.from({ length: count }, (_, i) => i)
    const worker = async (): Promise<void> => {
      for (let i = pairs.shift(); i !== undefined; i = pairs.shift()) {
        const namespace = `pair-${i}`
        const pair = random.pair(namespace)
        await createNamespaces(api, [namespace])
        const run = await runPair(api, pair, throughTheApi)
        counts.pairs += 1
        if (run === undefined) {
          counts.notStored += 1
          continue
        }
        const { plan, wrong } = run
        counts[outcomes[plan.outcome]] += 1
        counts.steps += plan.steps.length
        if (plan.outcome === 'order' && plan.steps.some(({ words }) => words !== ''))
          counts.withVersionsBetween += 1
        if (wrong === undefined) continue
        counts.wrong += 1
        process.stdout.write(`pair ${i}: ${wrong}\n    ${JSON.stringify(pair)}\n`)
        process.stdout.write(
          `    ${JSON.stringify(plan.steps.map(({ verb, kind, name, words }) => [verb, kind, name, words]))}\n`,
        )
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  } finally {
    await server.stop('SIGKILL')
  }
} finally {
  await api.stop()
}
process.stdout.write(`API server: ${JSON.stringify(counts)}\n`)
process.exitCode = compared.wrong + counts.wrong + counts.other + counts.notStored > 0 ? 1 : 0
