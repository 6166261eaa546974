import { parseDuration } from '../rule/index.ts'

/** The webhook timeout, in seconds, when the API server sends none in the URL. */
const DEFAULT_SECONDS = 10
/** The share of the webhook timeout for reads from the API server; the rest is for two judgements and the network. */
const SHARE = 0.8

/** Milliseconds that a review may spend on reads from the API server: four fifths of `timeout` in the review's URL. */
export function readBudgetMs(url: string): number {
  const given = /[?&]timeout=([^&]*)/.exec(url)?.[1]
  const nanoseconds = given === undefined ? undefined : parseDuration(given)
  const milliseconds = nanoseconds === undefined ? DEFAULT_SECONDS * 1_000 : Number(nanoseconds / 1_000_000n)
  return Math.floor(Math.min(Math.max(milliseconds, 0), 30_000) * SHARE)
}
