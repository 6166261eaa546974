import { randomNumbers } from '../../src/access/difference/random-numbers.ts'

/** Writes documents in which flow collections, quoted texts and comments stand at every indentation. */
export class DocumentWriter {
  readonly #random: (limit: number) => number

  constructor(seed: number) {
    const random = randomNumbers(seed)
    this.#random = (limit) => Math.floor(random() * limit)
  }

  document(): string {
    const whole = this.#block(0, 3)
    return this.#one(9) ? `${this.#mutated(whole)}\n` : whole
  }

  #one(of: number): boolean {
    return this.#random(of) === 0
  }

  #of<T>(...choices: readonly T[]): T {
    return choices[this.#random(choices.length)] as T
  }

  #times(most: number, write: (index: number) => string): string {
    return Array.from({ length: this.#random(most + 1) }, (_, index) => write(index)).join('')
  }

  #block(indent: number, depth: number): string {
    const pad = ' '.repeat(indent)
    const lines = 1 + this.#random(3)
    const isList = this.#one(3)
    return Array.from({ length: lines }, (_, i) => {
      const start = isList ? `${pad}-` : `${pad}${this.#key(i)}:`
      if (depth > 0 && this.#one(3)) {
        const deeper = indent + (isList ? 2 : this.#of(1, 2, 4))
        const inner = this.#block(deeper, depth - 1)
        return isList && this.#one(2)
          ? `${start} ${inner.trimStart()}`
          : `${start}${this.#comment()}\n${inner}`
      }
      return `${start} ${this.#value(indent)}${this.#comment()}\n`
    }).join('')
  }

  #key(index: number): string {
    return this.#of(`k${index}`, `k${index}`, `k${index}`, `"k${index}"`, `'k${index}'`)
  }

  #value(indent: number): string {
    return this.#of(
      () => this.#plain(),
      () => this.#quoted(indent),
      () => this.#flow(indent, 2),
      () => this.#flow(indent, 2),
      () =>
        `|${this.#of('', '-', '+')}${this.#comment()}\n${' '.repeat(indent + 2)}text [1,\n${' '.repeat(indent + 2)}"x`,
    )()
  }

  #plain(): string {
    return this.#of('a', '1', 'true', 'a b', "it's", 'x"y', 'a#b', '-1.5', 'no', 'a:b', '~', '')
  }

  /** A line end and what may come before the next word, at every indentation. */
  #fold(indent: number): string {
    const pads = [
      '',
      ' '.repeat(indent),
      ' '.repeat(indent + 1),
      ' '.repeat(indent + 2),
      '\t',
      `${' '.repeat(indent)}\t`,
    ]
    return `${this.#of('', '', ' ', '\t')}${this.#of('\n', '\n', '\n', '\n\n')}${this.#of(...pads)}`
  }

  #gap(indent: number): string {
    if (this.#one(3)) return this.#of('', ' ', '  ', '\t')
    if (this.#one(3)) return `${this.#comment()}${this.#fold(indent)}`
    return this.#one(2) ? this.#fold(indent) : ''
  }

  #comment(): string {
    return this.#of('', '', '', '', '', ' # c', ' # [', '#c', ' #"', '\t# c')
  }

  #quoted(indent: number): string {
    const [quote, escapes] = this.#of(
      ['"', ['\\n', '\\t', '\\"', '\\\\', '\\x41', '\\']] as const,
      ["'", ["''"]] as const,
    )
    const words = this.#times(3, (i) => {
      const word = this.#of('a', 'b c', '#', '# x', '- ', ': ', '[', '}', ',', ...escapes, '')
      return i === 0 ? word : `${this.#of(' ', this.#fold(indent))}${word}`
    })
    return `${quote}${words}${quote}`
  }

  #flow(indent: number, depth: number): string {
    const isMap = this.#one(2)
    const item = () => {
      const value = () =>
        depth > 0 && this.#one(4)
          ? this.#flow(indent, depth - 1)
          : this.#one(2)
            ? this.#quoted(indent)
            : this.#of(this.#plain(), this.#plain(), `a${this.#fold(indent)}b`)
      if (!isMap && !this.#one(8)) return value()
      const colon = this.#of(': ', ': ', ': ', ':', ` :${this.#gap(indent)}`, `:${this.#gap(indent)} `)
      return `${this.#of('a', 'b', 'c', '"d"', "'e'", '"f"')}${colon}${value()}`
    }
    const items = this.#times(
      3,
      (i) => `${i === 0 ? '' : `${this.#gap(indent)},`}${this.#gap(indent)}${item()}`,
    )
    const end = `${this.#one(8) ? ',' : ''}${this.#gap(indent)}`
    return isMap ? `{${items}${end}}` : `[${items}${end}]`
  }

  /** With one character more or less. */
  #mutated(whole: string): string {
    const at = this.#random(whole.length)
    const odd = this.#of(
      '\n',
      ' ',
      '\t',
      '"',
      "'",
      '[',
      ']',
      '{',
      '}',
      ',',
      ':',
      '#',
      '-',
      '&a ',
      '*a',
      '!t ',
      '|',
      '?',
    )
    return this.#one(2)
      ? whole.slice(0, at) + odd + whole.slice(at)
      : whole.slice(0, at) + whole.slice(at + 1)
  }
}
