import type { Test } from 'tap'
import { type ApiServer, type ApiServerOptions, startApiServer } from './api-server.ts'
import { findBinaries } from './find-binaries.ts'

const LONGEST_MS = 300_000

/** Whether the programs for an API server are installed. Otherwise the tests are skipped, and in CI they fail. */
export function hasApiServer(root: Test): boolean {
  const binaries = findBinaries()
  if (!('missing' in binaries)) return true
  if (process.env.CI === 'true') root.fail(binaries.missing)
  else root.plan(0, binaries.missing)
  return false
}

/** Runs the tests of a file with an API server of their own, if its programs are installed. */
export async function withApiServer(
  root: Test,
  suite: (t: Test, api: ApiServer) => Promise<void>,
  { longestMs = LONGEST_MS, ...options }: ApiServerOptions & { readonly longestMs?: number } = {},
): Promise<void> {
  if (!hasApiServer(root)) return
  root.setTimeout(longestMs)
  await root.test('with an API server', { timeout: longestMs }, async (t) => {
    const api = await startApiServer(options)
    t.teardown(() => api.stop())
    await suite(t, api)
  })
}
