import { setTimeout } from 'node:timers/promises'
import { containerEnvironment, chartMemory } from '../test/support/container.ts'
import { inTurn, openConnection, requestOf } from './client.ts'
import { table } from './figures.ts'
import { mixedReviews } from './reviews.ts'
import { type Name, ready, type Server, startServer } from './servers.ts'

const CONNECTIONS = 16
/** Milliseconds after which memory at rest is read. */
const PAUSE = 5_000

/** Resident memory before and after so many mixed requests; `options` are those of Node, in place of the image's. */
export async function memory(requests: number, options?: string): Promise<string> {
  const all = mixedReviews().flatMap((body) => ['/mutate', '/validate'].map((path) => requestOf(path, body)))
  const rows: string[][] = []
  for (const name of ['bare node:https', 'vmcp-admission'] as const satisfies readonly Name[]) {
    const server = await ready(await startServer(name, [], options))
    await setTimeout(PAUSE)
    const rest = figures(server)
    const asks = await Promise.all(Array.from({ length: CONNECTIONS }, () => openConnection(server.port)))
    const next = inTurn(all)
    let left = requests
    const start = performance.now()
    await Promise.all(
      asks.map(async (ask) => {
        while (left-- > 0) await ask(next.next().value)
      }),
    )
    const rate = (requests / (performance.now() - start)) * 1_000
    const after = figures(server)
    rows.push([name, rest, after, `${server.memory('VmHWM').toFixed(0)} MB`, `${rate.toFixed(0)}/s`])
    await server.stop()
  }
  const head = ['server', 'at rest', `after ${requests.toLocaleString('en')} requests`, 'peak', 'rate']
  const used = `vmcp-admission runs with \`${options ?? containerEnvironment().NODE_OPTIONS}\`, as in the image with the chart's limit of ${chartMemory()} MiB.`
  return `${table(head, rows)}\n\nResident memory, in parentheses what is not pages of files. ${used}`
}

function figures({ memory }: Server): string {
  return `${memory('VmRSS').toFixed(0)} (${memory('RssAnon').toFixed(0)}) MB`
}
