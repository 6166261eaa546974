import { advice, defineRule, must, parseDuration, says } from '../../../rule/index.ts'
import { compilePattern, PATTERNS } from '../../patterns.ts'
import { redis, server, withRedis } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const DURATION = compilePattern(PATTERNS.duration.ecmaScript)

export const durationRepresentable = defineRule({
  id: 'duration-representable',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    'Lifespans and timeouts are at most 2562047h47m16.854775807s, the longest duration that Go can hold.',
  why: 'The server cannot read a longer one and does not start.',
  sources: [
    must('2.4.3', 'Token lifespans are Go durations with defaults 1h, 168h and 10m.'),
    says('2.4.3', 'dialTimeout, readTimeout and writeTimeout are durations.'),
    must('2.5', 'P-duration'),
    'decision 16',
  ],
  *check({ tokenLifespans, storage }, { path }) {
    for (const field of ['accessTokenLifespan', 'refreshTokenLifespan', 'authCodeLifespan'] as const) {
      if (overflows(tokenLifespans?.[field])) yield advice(path.tokenLifespans[field], DETAIL)
    }
    for (const field of ['dialTimeout', 'readTimeout', 'writeTimeout'] as const) {
      if (overflows(storage?.redis?.[field])) yield advice(path.storage.redis[field], DETAIL)
    }
  },
  examples: {
    'the longest duration': { value: withRedis({ ...redis, dialTimeout: '2562047h47m16.854775807s' }) },
    'a nanosecond longer': {
      value: withRedis({ ...redis, dialTimeout: '2562047h47m16.854775808s' }),
      findings:
        'storage.redis.dialTimeout: must be at most about 2562047h, the longest that Go can hold, or the server does not start',
    },
    'a thousand years': {
      value: { ...server, tokenLifespans: { refreshTokenLifespan: '8766000h' } },
      findings:
        'tokenLifespans.refreshTokenLifespan: must be at most about 2562047h, the longest that Go can hold, or the server does not start',
    },
  },
})

const DETAIL = 'must be at most about 2562047h, the longest that Go can hold, or the server does not start'

/**
 * Whether a duration in nanoseconds exceeds int64. A text of at most seven characters never does (the longest is
 * 999999h); a text of more than a thousand characters is not parsed.
 */
function overflows(duration = ''): boolean {
  if (duration.length <= 7 || duration.length > 1_000) return false
  return DURATION.test(duration) && parseDuration(duration) === undefined
}
