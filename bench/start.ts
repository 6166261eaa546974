import { findBinaries } from '../test/e2e/find-binaries.ts'
import { startApiServer } from '../test/e2e/api-server.ts'
import { installCrds } from '../test/e2e/cluster.ts'
import { openConnection, requestOf } from './client.ts'
import { median, milliseconds, table } from './figures.ts'
import { mixedReviews } from './reviews.ts'
import { ready, startServer } from './servers.ts'

const STARTS = 7

/** From the start of the process; beside a cluster where the programs of the end-to-end tests are installed. */
export async function starts(): Promise<string> {
  const rows = [['alone', ...(await startTimes([]))]]
  if ('missing' in findBinaries()) rows.push(['beside an API server', 'not measured', 'not measured'])
  else {
    const api = await startApiServer()
    try {
      await installCrds(api, 'crds')
      rows.push(['beside an API server', ...(await startTimes(['--kubeconfig', api.kubeconfig]))])
    } finally {
      await api.stop()
    }
  }
  return table(['vmcp-admission', 'first answer', 'ready'], rows)
}

async function startTimes(flags: readonly string[]): Promise<string[]> {
  const [first = ''] = mixedReviews()
  const request = requestOf('/validate', first)
  const times: [number, number][] = []
  for (let i = 0; i < STARTS; i++) {
    const begun = performance.now()
    const server = await startServer('vmcp-admission', flags)
    await (
      await openConnection(server.port)
    )(request)
    const answered = performance.now() - begun
    await ready(server)
    times.push([answered, performance.now() - begun])
    await server.stop()
  }
  return [median(times.map(([answered]) => answered)), median(times.map(([, isReady]) => isReady))].map(
    milliseconds,
  )
}
