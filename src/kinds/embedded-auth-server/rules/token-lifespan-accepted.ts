import { advice, defineRule, must, parseDuration } from '../../../rule/index.ts'
import { compilePattern, PATTERNS } from '../../patterns.ts'
import { server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const DURATION = compilePattern(PATTERNS.duration.ecmaScript)

const SECOND = 1_000_000_000n
const MINUTE = 60n * SECOND
const HOUR = 60n * MINUTE

/** The lifespans that the server accepts (toolhive: pkg/authserver/server/provider.go). */
const ACCEPTED = [
  { field: 'accessTokenLifespan', least: MINUTE, most: 24n * HOUR, range: '1m to 24h' },
  { field: 'refreshTokenLifespan', least: HOUR, most: 720n * HOUR, range: '1h to 720h' },
  { field: 'authCodeLifespan', least: 30n * SECOND, most: 10n * MINUTE, range: '30s to 10m' },
] as const

export const tokenLifespanAccepted = defineRule({
  id: 'token-lifespan-accepted',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    'Access tokens live from 1m to 24h, refresh tokens from 1h to 720h, authorization codes from 30s to 10m.',
  why: 'Outside these bounds the server does not start, and the workload restarts for ever.',
  sources: [must('2.4.3', 'Token lifespans are Go durations with defaults 1h, 168h and 10m.'), 'decision 21'],
  *check({ tokenLifespans }, { path }) {
    for (const { field, least, most, range } of ACCEPTED) {
      const lifespan = tokenLifespans?.[field]
      if (lifespan === undefined || lifespan.length > 1_000) continue
      const length = parseDuration(lifespan)
      if (length === undefined || (length >= least && length <= most)) continue
      if (DURATION.test(lifespan)) {
        yield advice(path.tokenLifespans[field], `the server starts only with ${range}`)
      }
    }
  },
  examples: {
    'the lower bounds': {
      value: {
        ...server,
        tokenLifespans: {
          accessTokenLifespan: '60s',
          refreshTokenLifespan: '60m',
          authCodeLifespan: '0.5m',
        },
      },
    },
    'the upper bounds': {
      value: {
        ...server,
        tokenLifespans: {
          accessTokenLifespan: '24h',
          refreshTokenLifespan: '720h',
          authCodeLifespan: '9m60s',
        },
      },
    },
    'too long': {
      value: {
        ...server,
        tokenLifespans: {
          accessTokenLifespan: '48h',
          refreshTokenLifespan: '8760h',
          authCodeLifespan: '10m1ns',
        },
      },
      findings: [
        'tokenLifespans.accessTokenLifespan: the server starts only with 1m to 24h',
        'tokenLifespans.refreshTokenLifespan: the server starts only with 1h to 720h',
        'tokenLifespans.authCodeLifespan: the server starts only with 30s to 10m',
      ],
    },
    'too short': {
      value: { ...server, tokenLifespans: { accessTokenLifespan: '30s' } },
      findings: 'tokenLifespans.accessTokenLifespan: the server starts only with 1m to 24h',
    },
  },
})
