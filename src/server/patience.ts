import { parseDuration } from '../rule/duration.ts'

/** What the API server waits when it does not say. */
const USUAL_SECONDS = 10
/** The rest is for judging twice and for the way. */
const SHARE = 0.8

/** How long reads may take, in whole milliseconds: four fifths of the `timeout` that the API server sends in the query. */
export function patience(url: string): number {
  const given = /[?&]timeout=([^&]*)/.exec(url)?.[1]
  const nanoseconds = given === undefined ? undefined : parseDuration(given)
  const milliseconds = nanoseconds === undefined ? USUAL_SECONDS * 1_000 : Number(nanoseconds / 1_000_000n)
  return Math.floor(Math.min(Math.max(milliseconds, 0), 30_000) * SHARE)
}
