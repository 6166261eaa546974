import { readFileSync } from 'node:fs'
import { parseDouble, printDouble } from '../../src/cel/evaluate/doubles.ts'
import { isFound } from '../../src/cel/index.ts'
import { Failure } from '../../src/cel/evaluate/values.ts'
import { compilePattern, PATTERNS } from '../../src/kinds/patterns.ts'
import { goQuote, goValue } from '../../src/rule/go-text.ts'
import { parseDuration } from '../../src/rule/duration.ts'
import { OutOfBudget } from '../../src/rule/index.ts'
import { parseUrl } from '../../src/rule/url.ts'
import { FORMATS } from '../../src/shape/formats.ts'
import { goAnswers, goVersion } from '../go.ts'
import { type Compare, Tally } from './comparison.ts'
import { type Random, randomOf, several } from './random.ts'
import {
  durationWriter,
  jsonNumberWriter,
  numberWriter,
  patternWriter,
  quotedWriter,
  textWriter,
  timeWriter,
  urlWriter,
} from './string-writers.ts'

/** A question to read-strings beside this file, and our answer to it in its form. */
interface Question {
  readonly text: string
  readonly pattern?: string
  readonly ours: string
}

interface Strings {
  readonly what: string
  /** The name of the question in read-strings. */
  readonly of: string
  readonly ask: (random: Random) => () => Question
  /** Why the answers may differ; undefined where they may not. */
  readonly why?: (question: Question, theirs: string) => string | undefined
}

const PROGRAM = { folder: 'bench/parity/read-strings' }
const REFUSED = 'refused'
const LIMIT = 'a pattern that is too large for us: nothing is said of it'
const LAX =
  'a time that RFC 3339 does not have (an hour of one digit, a comma, an offset of 24 hours or 60 minutes): we refuse it'
const LAX_TIME = /T\d:|,|[+-]24:|[+-]\d\d:60$/
const NEWER = 'a character of a Unicode version that is newer than that of Go, which prints its number'

/** Strings that the specification's patterns take or nearly take, recorded by test/golden/record-patterns. */
interface GoldenPatterns {
  readonly patterns: Readonly<
    Record<string, { readonly text: string; readonly rows: readonly (readonly [string, boolean])[] }>
  >
}
const golden = JSON.parse(
  readFileSync(new URL('../../test/golden/patterns.json', import.meta.url), 'utf8'),
) as GoldenPatterns

const KINDS: readonly Strings[] = [
  ...Object.values(PATTERNS).map(({ name, specification, ecmaScript }): Strings => ({
    what: `pattern ${name}`,
    of: 'pattern',
    ask: (random) => {
      const write = textWriter(random, golden.patterns[name]?.rows.map(([text]) => text) ?? [])
      const compiled = compilePattern(ecmaScript)
      return () => {
        const text = write()
        return { text, pattern: specification, ours: String(compiled.test(text)) }
      }
    },
  })),
  {
    what: 'regular expressions',
    of: 'pattern',
    ask: (random) => {
      const write = patternWriter(random)
      return () => {
        const { pattern, text } = write()
        return { pattern, text, ours: found(pattern, text) }
      }
    },
    why: ({ ours }) => (ours === LIMIT ? LIMIT : undefined),
  },
  {
    what: 'durations',
    of: 'duration',
    ask: asked(durationWriter, (text) => String(parseDuration(text) ?? REFUSED)),
  },
  { what: 'URLs', of: 'url', ask: asked(urlWriter, partsOf) },
  {
    what: 'numbers read',
    of: 'number',
    ask: asked(numberWriter, (text) => {
      const read = parseDouble(text)
      return read === undefined ? REFUSED : printDouble(read)
    }),
  },
  {
    what: 'numbers printed',
    of: 'printed',
    ask: asked(jsonNumberWriter, (text) => goValue(Number(text))),
  },
  {
    what: 'texts printed',
    of: 'quoted',
    ask: asked(quotedWriter, goQuote),
    why: ({ ours }, theirs) => (unescaped(ours) === unescaped(theirs) ? NEWER : undefined),
  },
  {
    what: 'times',
    of: 'time',
    ask: asked(timeWriter, (text) => (FORMATS['date-time'].validate(text) ? 'taken' : REFUSED)),
    why: ({ text, ours }) => (ours === REFUSED && LAX_TIME.test(text) ? LAX : undefined),
  },
]

function asked(writer: (random: Random) => () => string, answer: (text: string) => string): Strings['ask'] {
  return (random) => {
    const write = writer(random)
    return () => {
      const text = write()
      return { text, ours: answer(text) }
    }
  }
}

function found(pattern: string, text: string): string {
  try {
    const is = isFound(pattern, text, () => undefined)
    return is instanceof Failure ? REFUSED : String(is)
  } catch (error) {
    if (error instanceof OutOfBudget) return LIMIT
    throw error
  }
}

/** The host as bytes: Go has decoded the escapes in it. */
function partsOf(text: string): string {
  const url = parseUrl(text)
  if (url === undefined) return REFUSED
  const bytes = url.host
    .split(/(%[0-9A-Fa-f]{2})/)
    .map((part, i) => (i % 2 === 1 ? part.slice(1) : hexOf(part)))
  return `${url.scheme} ${url.hasUserInfo} ${bytes.join('').toLowerCase()} ${url.port}`
}

const hexOf = (text: string) => Buffer.from(text).toString('hex')

const unescaped = (text: string) =>
  text.replace(/\\u([0-9a-f]{4})|\\U([0-9a-f]{8})/g, (_, short?: string, long?: string) =>
    String.fromCodePoint(parseInt(short ?? long ?? '', 16)),
  )

/** What Go makes of strings: `count` of each kind. */
export const compareStrings: Compare = async (count, seed) => {
  const version = goVersion(PROGRAM).replace('go', 'Go ')
  const comparisons = []
  for (const { what, of, ask, why } of KINDS) {
    const questions = several(count, ask(randomOf(seed))).filter(({ text }) => text.isWellFormed())
    const lines = questions.map(({ text, pattern }) => JSON.stringify({ of, text, pattern }))
    const answers = await goAnswers(PROGRAM, lines)
    const tally = new Tally()
    for (const [i, question] of questions.entries()) {
      const theirs = answers[i] ?? ''
      tally.came(theirs === REFUSED || theirs === 'false' ? REFUSED : 'taken')
      if (question.ours === theirs) continue
      const explanation = why?.(question, theirs)
      if (explanation !== undefined) tally.explained(explanation)
      else tally.different(`${lines[i]}: Go ${theirs}, we ${question.ours}`)
    }
    comparisons.push(tally.result(`Go: ${what}`, version, questions.length))
  }
  return comparisons
}
