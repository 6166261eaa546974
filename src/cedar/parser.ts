import type { CedarOperator, PolicyCondition, EntityName, CedarExpr, CedarPolicy } from './ast.ts'
import { shortText } from '../rule/index.ts'
import { SyntaxFault, type CedarToken, tokenAt, valueOf } from './tokens.ts'

/**
 * This file parses Cedar policies as cedar-go 1.8 does: operator releases refuse the texts that cedar-go refuses. The
 * time is linear in the length of the text.
 */

/**
 * The deepest nesting of brackets, signs and member accesses that is parsed. cedar-go has no limit; people write fewer
 * than ten.
 */
const DEEPEST = 100

/** Thrown when a policy nests deeper than `DEEPEST`. */
class TooDeep extends Error {}

export type Parsed =
  | {
      readonly kind: 'policy'
      readonly policy: CedarPolicy
      /** The text after the policy, which cedar-go ignores: `permit` policies, any `forbid` policy, or other text. */
      readonly rest: 'nothing' | 'permit' | 'forbid' | 'other'
    }
  | { readonly kind: 'empty' }
  /** The policy nests too deep to be parsed, or the budget ran out. */
  | { readonly kind: 'unread' }
  | { readonly kind: 'refused'; readonly hint: string }

/** Parses the first policy in a text, as the operator does. Never throws. */
export function parsePolicy(text: string): Parsed {
  try {
    if (text.includes('\0')) return { kind: 'refused', hint: 'remove the character NUL' }
    if (tokenAt(text, 0).kind === 'end') return { kind: 'empty' }
    const parser = new Parser(text)
    const policy = parser.policy()
    return { kind: 'policy', policy, rest: parser.rest() }
  } catch (error) {
    if (error instanceof SyntaxFault) return { kind: 'refused', hint: error.message }
    if (error instanceof TooDeep) return { kind: 'unread' }
    throw error
  }
}

const CLOSES: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }
const COMPARISONS: ReadonlySet<string> = new Set<CedarOperator>(['==', '!=', '<', '<=', '>', '>='])
const VARIABLES: ReadonlySet<string> = new Set(['principal', 'action', 'resource', 'context'])

/** Cedar's methods, except those of extension types, with the number of their arguments. */
const METHODS: ReadonlyMap<string, number> = new Map([
  ['contains', 1],
  ['containsAll', 1],
  ['containsAny', 1],
  ['hasTag', 1],
  ['getTag', 1],
  ['isEmpty', 0],
])
const EXTENSION_METHODS: ReadonlySet<string> = new Set([
  ...['lessThan', 'lessThanOrEqual', 'greaterThan', 'greaterThanOrEqual'],
  ...['isIpv4', 'isIpv6', 'isLoopback', 'isMulticast', 'isInRange'],
  ...['toDate', 'toTime', 'offset', 'durationSince'],
  ...['toDays', 'toHours', 'toMinutes', 'toSeconds', 'toMilliseconds'],
])
const FUNCTIONS: ReadonlySet<string> = new Set(['ip', 'decimal', 'datetime', 'duration'])

/** Whether this is the name of a Cedar extension function, which makes a value from a string. */
export const isFunction = (name: string): boolean => FUNCTIONS.has(name)

/** Syntax of other languages that people use by mistake, with what to write in Cedar. */
const SAID_OTHERWISE: ReadonlyMap<string, string> = new Map([
  ['=', "compare with '=='"],
  ['&', "write '&&'"],
  ['|', "write '||'"],
  ['and', "write '&&'"],
  ['or', "write '||'"],
  ['not', "write '!'"],
  ["'", 'write strings in double quotes'],
  ['?', 'name an entity; slots such as ?principal are for templates'],
  ['startsWith', 'write \'like "…*"\' for startsWith'],
  ['endsWith', 'write \'like "*…"\' for endsWith'],
  ['matches', "write 'like'; there are no regular expressions"],
])

class Parser {
  readonly #text: string
  #next: CedarToken
  /** The brackets that are open; used only for hints. */
  readonly #open: string[] = []
  /** The nesting depth at the next token; `#deepest` is the greatest depth in the expression being measured. */
  #depth = 0
  #deepest = 0

  constructor(text: string) {
    this.#text = text
    this.#next = tokenAt(text, 0)
  }

  /**
   * Describes the text after the policy: `forbid` when any policy there is a forbid, else `permit` when there is a
   * permit. Reads all tokens, because cedar-go refuses a text with an invalid token.
   */
  rest(): 'nothing' | 'permit' | 'forbid' | 'other' {
    let found: 'nothing' | 'permit' | 'forbid' | 'other' = 'nothing'
    for (let token = this.#advance(); token.kind !== 'end'; token = this.#advance()) {
      if (found === 'nothing') found = 'other'
      if (!this.#sees('(')) continue
      if (token.text === 'forbid' || (token.text === 'permit' && found === 'other')) found = token.text
    }
    return found
  }

  policy(): CedarPolicy {
    this.#annotations()
    const effect = this.#advance()
    if (effect.text !== 'permit' && effect.text !== 'forbid')
      throw new SyntaxFault("begin with 'permit' or 'forbid'", effect.start)
    this.#expect('(')
    const principal = this.#scope('principal')
    this.#expect(',')
    const action = this.#action()
    this.#expect(',')
    const resource = this.#scope('resource')
    if (this.#sees(',')) this.#advance()
    this.#expect(')')
    const conditions: PolicyCondition[] = []
    while (this.#sees('when') || this.#sees('unless')) {
      const kind = this.#advance().text === 'when' ? 'when' : 'unless'
      this.#expect('{')
      conditions.push({ kind, expr: this.#expression() })
      this.#expect('}')
    }
    if (this.#next.kind === 'end') this.#fail("end with ';'")
    this.#expect(';')
    return { effect: effect.text, scope: { principal, action, resource }, conditions }
  }

  #annotations(): void {
    const known = new Set<string>()
    while (this.#sees('@')) {
      this.#advance()
      const name = this.#advance()
      if (name.kind !== 'name' && name.kind !== 'word') this.#fail('name each annotation', name)
      if (known.has(name.text)) this.#fail(`write the annotation @${shown(name.text)} once`, name)
      known.add(name.text)
      if (!this.#sees('(')) continue
      this.#advance()
      const value = this.#advance()
      if (value.kind !== 'string') this.#fail('write the value of an annotation in double quotes', value)
      valueOf(value)
      this.#expect(')')
    }
  }

  /** Parses `principal` or `resource` in the scope, with the constraint on it. */
  #scope(name: 'principal' | 'resource'): CedarExpr | undefined {
    this.#expect(name)
    const of: CedarExpr = { kind: 'variable', name }
    switch (this.#next.text) {
      case '==':
        this.#advance()
        return { kind: 'comparison', operator: '==', left: of, right: this.#entity(name) }
      case 'in':
        this.#advance()
        return { kind: 'in', left: of, right: this.#entity(name) }
      case 'is': {
        this.#advance()
        const type = this.#type()
        if (!this.#sees('in')) return { kind: 'is', of, type, in: undefined }
        this.#advance()
        return { kind: 'is', of, type, in: this.#entity(name) }
      }
      default:
        return undefined
    }
  }

  #action(): CedarExpr | undefined {
    this.#expect('action')
    const left: CedarExpr = { kind: 'variable', name: 'action' }
    if (this.#sees('==')) {
      this.#advance()
      return { kind: 'comparison', operator: '==', left, right: this.#entity('action') }
    }
    if (!this.#sees('in')) return undefined
    this.#advance()
    if (!this.#sees('[')) return { kind: 'in', left, right: this.#entity('action') }
    this.#advance()
    const items: CedarExpr[] = []
    while (!this.#sees(']')) {
      items.push(this.#entity('action'))
      this.#comma(']')
    }
    this.#advance()
    return { kind: 'in', left, right: { kind: 'set', items } }
  }

  #entity(of: string): CedarExpr {
    const first = this.#advance()
    if (first.text === '[')
      this.#fail(`name one entity here; write when { ${of} in [ … ] } for several`, first)
    if (first.kind !== 'name') this.#fail(`name an entity, such as Type::"id", behind ${of}`, first)
    this.#expect('::')
    return { kind: 'entity', entity: this.#entityName(first.text) }
  }

  /** Parses the rest of `Type::"id"`, after the first `::`. */
  #entityName(type: string): EntityName {
    for (let whole = type; ;) {
      const part = this.#advance()
      if (part.kind === 'string') return { type: whole, id: valueOf(part) }
      if (part.kind !== 'name') this.#fail('write the name of an entity in double quotes', part)
      if (!this.#sees('::'))
        this.#fail(`write ${shortText(whole, 60)}::"${shortText(part.text, 60)}", with double quotes`)
      whole = `${whole}::${part.text}`
      this.#advance()
    }
  }

  #type(): string {
    const first = this.#advance()
    if (first.kind !== 'name') this.#fail("name a type behind 'is'", first)
    let type = first.text
    while (this.#sees('::')) {
      this.#advance()
      const part = this.#advance()
      if (part.kind === 'string') this.#fail("name a type behind 'is', not an entity", part)
      if (part.kind !== 'name') this.#fail("name a type behind 'is'", part)
      type = `${type}::${part.text}`
    }
    return type
  }

  #expression(): CedarExpr {
    this.#descend()
    const expr = this.#sees('if') ? this.#if() : this.#list('or', '||', () => this.#and())
    this.#depth--
    return expr
  }

  #descend(): void {
    if (++this.#depth > DEEPEST) throw new TooDeep()
    this.#deepest = Math.max(this.#deepest, this.#depth)
  }

  /** Parses an expression and measures its depth: each suffix, such as `.name`, nests it one level deeper (`#wrap`). */
  #wrapped(read: () => CedarExpr): CedarExpr {
    const before = this.#deepest
    this.#deepest = this.#depth
    const expr = read()
    this.#deepest = Math.max(before, this.#deepest)
    return expr
  }

  /** Counts one more level of nesting around the expression that was just parsed. */
  #wrap(): void {
    if (++this.#deepest > DEEPEST) throw new TooDeep()
  }

  #if(): CedarExpr {
    this.#advance()
    const test = this.#expression()
    this.#expect('then')
    const then = this.#expression()
    this.#expect('else')
    return { kind: 'if', test, then, else: this.#expression() }
  }

  #and(): CedarExpr {
    return this.#list('and', '&&', () => this.#wrapped(() => this.#relation()))
  }

  /** Parses items separated by the operator; a single item is returned as it is. */
  #list(kind: 'and' | 'or', operator: string, item: () => CedarExpr): CedarExpr {
    const first = item()
    if (!this.#sees(operator)) return first
    const items = [first]
    while (this.#sees(operator)) {
      this.#advance()
      items.push(item())
    }
    return { kind, items }
  }

  #relation(): CedarExpr {
    const left = this.#sum()
    const { text } = this.#next
    if (text === 'has') return this.#has(left)
    if (text === 'like') {
      this.#advance()
      const pattern = this.#advance()
      if (pattern.kind !== 'string') this.#fail("write a pattern in double quotes behind 'like'", pattern)
      return { kind: 'like', of: left, pattern: valueOf(pattern, true) }
    }
    if (text === 'is') {
      this.#advance()
      const type = this.#type()
      if (!this.#sees('in')) return { kind: 'is', of: left, type, in: undefined }
      this.#advance()
      return { kind: 'is', of: left, type, in: this.#sum() }
    }
    if (text === 'in') {
      this.#advance()
      return { kind: 'in', left, right: this.#sum() }
    }
    if (!COMPARISONS.has(text)) return left
    this.#advance()
    return { kind: 'comparison', operator: text as CedarOperator, left, right: this.#sum() }
  }

  /** Parses `has`. `has a.b` tests for `a`, and then for `b` in its value. */
  #has(left: CedarExpr): CedarExpr {
    this.#advance()
    const first = this.#advance()
    if (first.kind === 'string') return { kind: 'has', of: left, name: valueOf(first) }
    if (first.kind !== 'name') this.#fail("name an attribute behind 'has'", first)
    const items: CedarExpr[] = [{ kind: 'has', of: left, name: first.text }]
    for (let of: CedarExpr = { kind: 'attribute', of: left, name: first.text }; this.#sees('.');) {
      this.#advance()
      const { kind, text: name } = this.#advance()
      if (kind !== 'name') this.#fail("name an attribute behind 'has'")
      this.#wrap()
      items.push({ kind: 'has', of, name })
      of = { kind: 'attribute', of, name }
    }
    const [only, ...others] = items
    return only !== undefined && others.length === 0 ? only : { kind: 'and', items }
  }

  #sum(): CedarExpr {
    return this.#arithmetic(['+', '-'], () => this.#arithmetic(['*'], () => this.#unary()))
  }

  #arithmetic(operators: readonly string[], item: () => CedarExpr): CedarExpr {
    const first = item()
    if (!operators.includes(this.#next.text)) return first
    const items = [first]
    while (operators.includes(this.#next.text)) {
      this.#advance()
      items.push(item())
    }
    return { kind: 'arithmetic', items }
  }

  #unary(): CedarExpr {
    const operators: ('not' | 'negate')[] = []
    while (this.#sees('-') || this.#sees('!')) {
      this.#descend()
      operators.push(this.#advance().text === '-' ? 'negate' : 'not')
    }
    const count = operators.length
    let expr: CedarExpr
    if (operators.at(-1) === 'negate' && this.#next.kind === 'number') {
      operators.pop()
      expr = this.#long(this.#advance(), '-')
    } else expr = this.#wrapped(() => this.#member())
    this.#depth -= count
    for (const kind of operators.toReversed()) expr = { kind, of: expr }
    return expr
  }

  #long({ text, start }: CedarToken, sign = ''): CedarExpr {
    // Nineteen digits are enough for every Cedar long (int64); more digits are allowed only as leading zeros.
    const first = text.search(/[1-9]/)
    const digits = first < 0 ? '0' : text.slice(first)
    const value = digits.length > 19 ? undefined : BigInt(digits) * (sign === '' ? 1n : -1n)
    if (value === undefined || BigInt.asIntN(64, value) !== value)
      throw new SyntaxFault('write a number of 64 bits', start)
    return { kind: 'long', value }
  }

  /** Parses a value and its suffixes: `.name`, `["name"]`, `.method(…)`. */
  #member(): CedarExpr {
    for (let expr = this.#primary(); ;) {
      const { text } = this.#next
      if (text !== '.' && text !== '[') return expr
      this.#wrap()
      this.#advance()
      const name = this.#advance()
      if (text === '[') {
        if (name.kind !== 'string') this.#fail('write the name of an attribute in double quotes', name)
        expr = { kind: 'attribute', of: expr, name: valueOf(name) }
        this.#expect(']')
      } else if (name.kind !== 'name') this.#fail("name an attribute behind '.'", name)
      else if (this.#sees('(')) expr = this.#method(expr, name)
      else expr = { kind: 'attribute', of: expr, name: name.text }
    }
  }

  #method(of: CedarExpr, { text: name, start }: CedarToken): CedarExpr {
    this.#advance()
    const args = this.#items(')')
    const count = METHODS.get(name)
    if (count === undefined ? !EXTENSION_METHODS.has(name) : count !== args.length)
      throw new SyntaxFault(
        count !== undefined
          ? `give .${name} ${count === 0 ? 'no argument' : 'one argument'}`
          : (SAID_OTHERWISE.get(name) ?? `there is no method .${shown(name)}`),
        start,
      )
    return { kind: 'call', name, args: [of, ...args] }
  }

  #primary(): CedarExpr {
    const token = this.#advance()
    const { kind, text } = token
    if (kind === 'number') return this.#long(token)
    if (kind === 'string') return { kind: 'string', value: valueOf(token) }
    if (text === 'true' || text === 'false') return { kind: 'boolean', value: text === 'true' }
    if (kind === 'name') return this.#named(token)
    if (text === '(') {
      const expr = this.#expression()
      this.#expect(')')
      return expr
    }
    if (text === '[') return { kind: 'set', items: this.#items(']') }
    if (text === '{') return this.#record()
    return this.#fail(undefined, token)
  }

  /** Parses a variable, an entity or a function call. */
  #named(token: CedarToken): CedarExpr {
    const { text: name } = token
    if (this.#sees('::')) {
      this.#advance()
      return { kind: 'entity', entity: this.#entityName(name) }
    }
    if (this.#sees('(')) {
      if (!FUNCTIONS.has(name)) this.#fail(`there is no function ${shown(name)}`, token)
      this.#advance()
      return { kind: 'call', name, args: this.#items(')') }
    }
    if (!VARIABLES.has(name))
      this.#fail(`"${shown(name)}" is not principal, action, resource or context`, token)
    return { kind: 'variable', name: name as 'principal' }
  }

  #items(end: string): CedarExpr[] {
    const items: CedarExpr[] = []
    while (!this.#sees(end)) {
      items.push(this.#expression())
      this.#comma(end)
    }
    this.#advance()
    return items
  }

  #record(): CedarExpr {
    const entries = new Map<string, CedarExpr>()
    while (!this.#sees('}')) {
      const key = this.#advance()
      if (key.kind !== 'name' && key.kind !== 'string') this.#fail('name each entry of a record', key)
      const name = key.kind === 'string' ? valueOf(key) : key.text
      this.#expect(':')
      const value = this.#expression()
      if (entries.has(name)) this.#fail(`write the key "${shown(name)}" once`, key)
      entries.set(name, value)
      this.#comma('}')
    }
    this.#advance()
    return { kind: 'record', entries: [...entries] }
  }

  /** Parses the comma after an item, or nothing when the next token is the closing bracket `end`. */
  #comma(end: string): void {
    if (this.#sees(',')) this.#advance()
    else if (!this.#sees(end)) this.#fail()
  }

  #sees(text: string): boolean {
    return this.#next.text === text
  }

  #advance(): CedarToken {
    const token = this.#next
    const { kind, text, start } = token
    if (kind === 'end') return token
    if (kind === 'operator') this.#count(text)
    this.#next = tokenAt(this.#text, start + text.length)
    return token
  }

  /** Records which brackets are open; used only for hints. */
  #count(text: string): void {
    const opening = CLOSES[text]
    if (opening !== undefined) {
      if (this.#open.at(-1) === opening) this.#open.pop()
    } else if (text === '(' || text === '[' || text === '{') this.#open.push(text)
  }

  #expect(text: string): void {
    const token = this.#advance()
    if (token.text !== text) this.#fail(undefined, token, text)
  }

  #fail(hint?: string, token = this.#next, wanted?: string): never {
    throw new SyntaxFault(this.#hintFor(token, wanted, hint), token.start)
  }

  #hintFor({ kind, text, start }: CedarToken, wanted?: string, hint?: string): string {
    const said = kind === 'string' || text === 'like' ? undefined : SAID_OTHERWISE.get(text)
    if (said !== undefined) return said
    if (hint !== undefined) return hint
    if ((text === ';' || kind === 'end') && this.#open.length > 0) return 'close each bracket'
    if (text === '::') return 'write the name of an entity in double quotes'
    const expected = wanted === undefined ? '' : `write ${wanted} `
    if (kind === 'end') return `${expected || 'write more '}at the end`
    const line = this.#lineOf(start)
    return expected === ''
      ? `${shown(text)} is not expected in line ${line}`
      : `${expected}before ${shown(text)} in line ${line}`
  }

  #lineOf(place: number): number {
    let line = 1
    for (let at = this.#text.indexOf('\n'); at >= 0 && at < place; at = this.#text.indexOf('\n', at + 1))
      line++
    return line
  }
}

/** The start of a text, for a hint. */
const shown = (text: string): string => shortText(text, 24)
