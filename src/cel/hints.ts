import { nearest } from '../rule/index.ts'
import { overloads, typeNames, variables } from './declarations.ts'

/** Functions of other languages and of CEL extensions that matchers do not have, with what to write instead. */
const otherWords = new Map([
  ['len', "use 'size'"],
  ['length', "use 'size'"],
  ['count', "use 'size'"],
  ['hasprefix', "use 'startsWith'"],
  ['hassuffix', "use 'endsWith'"],
  ['includes', "use 'in' for lists, 'contains' for text"],
  ['any', "use 'exists'"],
  ['some', "use 'exists'"],
  ['every', "use 'all'"],
  ['regex', "use 'matches'"],
  [
    'lowerascii',
    'the strings extension is not available; a regular expression can ignore case: matches("(?i)…")',
  ],
  [
    'upperascii',
    'the strings extension is not available; a regular expression can ignore case: matches("(?i)…")',
  ],
  ['tolower', 'a regular expression can ignore case: matches("(?i)…")'],
  ['tolowercase', 'a regular expression can ignore case: matches("(?i)…")'],
  ...[
    'split',
    'join',
    'substring',
    'trim',
    'replace',
    'indexof',
    'lastindexof',
    'charat',
    'format',
    'quote',
  ].map((word): [string, string] => [word, 'the strings extension is not available']),
])

/** The correct form of each macro: a hint for calls in another form, which count as calls of an unknown function. */
const macroUsage = new Map([
  ['has', 'write has(claims.name)'],
  ['all', 'write list.all(x, condition)'],
  ['exists', 'write list.exists(x, condition)'],
  ['exists_one', 'write list.exists_one(x, condition)'],
  ['map', 'write list.map(x, result)'],
  ['filter', 'write list.filter(x, condition)'],
])

const functionNames = [
  ...new Set(overloads.map(({ name }) => name).filter((name) => /^\w+$/.test(name))),
  ...macroUsage.keys(),
]
const variableNames = [...variables.keys()]
const wordLiterals = ['true', 'false', 'null']

/** A hint in parentheses for an unknown function; empty when there is none. */
export function functionHint(name: string): string {
  const known = macroUsage.get(name) ?? otherWords.get(name.toLowerCase())
  return inParentheses(known ?? didYouMean(name, functionNames))
}

/** A hint in parentheses for an unknown variable; `inScope` are the names that comprehensions declare. */
export function variableHint(name: string, inScope: readonly string[]): string {
  const loopVariables = inScope.filter((known) => /^\w+$/.test(known))
  const names = [...variableNames, ...loopVariables]
  const near = didYouMean(name, [...names, ...wordLiterals, ...typeNames.keys()])
  if (near !== undefined) return inParentheses(near)
  if (loopVariables.length > 0) return inParentheses(`known here: ${shorten(names.join(', '))}`)
  return inParentheses(`the only variable is claims: write claims.${shorten(name)}, and text in quotes`)
}

/** A name, cut when it is too long for an error message. */
export function shorten(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name
}

function inParentheses(hint: string | undefined): string {
  return hint === undefined ? '' : ` (${hint})`
}

function didYouMean(name: string, known: readonly string[]): string | undefined {
  const near = nearest(name, known)
  return near === undefined ? undefined : `did you mean '${near}'`
}
