import { parseDuration } from '../rule/index.ts'

/** The timeout of the API server, in seconds, if its URL has none. */
const DEFAULT_SECONDS = 10
/** The share of the timeout for reads; the rest is for judging twice, and for the network. */
const SHARE = 0.8

/** How long reads for one review may take, in whole milliseconds: four fifths of the `timeout` in the query of its URL. */
export function readBudgetMs(url: string): number {
  const given = /[?&]timeout=([^&]*)/.exec(url)?.[1]
  const nanoseconds = given === undefined ? undefined : parseDuration(given)
  const milliseconds = nanoseconds === undefined ? DEFAULT_SECONDS * 1_000 : Number(nanoseconds / 1_000_000n)
  return Math.floor(Math.min(Math.max(milliseconds, 0), 30_000) * SHARE)
}
