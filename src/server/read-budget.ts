import { parseDuration } from '../rule/index.ts'

/** The timeout, in seconds, of an API server that sends none in the URL. */
const DEFAULT_SECONDS = 10
/** The share of the timeout for reads; the rest is for two judgements and the network. */
const SHARE = 0.8

/** The longest time for the reads of a review, in milliseconds: four fifths of `timeout` in the query of its URL. */
export function readBudgetMs(url: string): number {
  const given = /[?&]timeout=([^&]*)/.exec(url)?.[1]
  const nanoseconds = given === undefined ? undefined : parseDuration(given)
  const milliseconds = nanoseconds === undefined ? DEFAULT_SECONDS * 1_000 : Number(nanoseconds / 1_000_000n)
  return Math.floor(Math.min(Math.max(milliseconds, 0), 30_000) * SHARE)
}
