import { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import type { Environment } from '../../configuration/flags.ts'

type Style = Parameters<typeof styleText>[0]

/** The width and the colours of the terminal to which the output is written. */
export interface Terminal {
  readonly columns: number
  /** Returns the text in a style, such as a colour; unchanged when colours are off. */
  readonly paint: (style: Style, text: string) => string
}

const LEAST_COLUMNS = 40
const MOST_COLUMNS = 200
const COLUMNS = 80

/**
 * Detects the colours and width of the output. Colours need a terminal and no NO_COLOR; FORCE_COLOR overrides both.
 * Without a terminal, the variable COLUMNS gives the width.
 */
export function terminalOf(
  stream: { readonly isTTY?: boolean; readonly columns?: number },
  environment: Environment,
): Terminal {
  const given = stream.columns ?? Number(environment.COLUMNS ?? COLUMNS)
  const columns = Math.min(Math.max(Math.trunc(given) || COLUMNS, LEAST_COLUMNS), MOST_COLUMNS)
  const mayColour = stream.isTTY === true || environment.FORCE_COLOR !== undefined
  const colours = mayColour && WriteStream.prototype.getColorDepth(environment) > 2
  return {
    columns,
    paint: (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text),
  }
}

/** Wraps a text into lines of at most `width` columns; splits longer words, if possible after `.`, `/`, `,` or `-`. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const joined = line === '' ? word : `${line} ${word}`
    if (widthOf(joined) <= width) {
      line = joined
      continue
    }
    if (line !== '') lines.push(line)
    const [last = '', ...before] = cut(word, width).toReversed()
    lines.push(...before.toReversed())
    line = last
  }
  return line === '' && lines.length > 0 ? lines : [...lines, line]
}

function cut(word: string, width: number): string[] {
  const parts: string[] = []
  let rest = word
  for (;;) {
    const start = startOf(rest, width)
    if (start.length === rest.length) break
    const seam = Math.max(...['.', '/', ',', '-'].map((mark) => start.lastIndexOf(mark))) + 1
    const end = seam > width / 3 ? seam : start.length
    parts.push(rest.slice(0, end))
    rest = rest.slice(end)
  }
  return [...parts, rest]
}

/** The longest beginning of the text that fits into `width` columns; at least one character. */
export function startOf(text: string, width: number): string {
  let [start, used] = ['', 0]
  for (const character of text) {
    used += widthOf(character)
    if (used > width && start !== '') break
    start += character
  }
  return start
}

/** Characters of East Asian scripts and emoji, which take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/gu
const MARK = /\p{Mark}|\u200d/gu

/** The number of terminal columns that a text takes. */
export function widthOf(text: string): number {
  // A fast path: most texts are plain ASCII.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0
  return [...text].length + count(WIDE) - count(MARK)
}
