export { type Expr, subexpressions } from './ast.ts'
export { type CelGoVersion, check, maxProblems, type SettledCalls } from './checker.ts'
export { STRING_FUNCTIONS } from './declarations.ts'
export { evaluate } from './evaluate/evaluate.ts'
export { isFound } from './evaluate/patterns.ts'
export {
  described,
  Failure,
  fromJson,
  type Spend,
  spendingFrom,
  typeOf,
  type Value,
} from './evaluate/values.ts'
export { outsideStringLiterals } from './lexer.ts'
export { parse, type ParseResult } from './parser.ts'
export { isTrueWithoutClaims, provedConstant } from './reason/facts.ts'
export { NUMBERS, numbersFrom, textsFrom } from './reason/hints.ts'
export { solve } from './reason/model.ts'
export { printed } from './reason/print.ts'
export { type Program, programOf, type Programs, programsOf } from './reason/program.ts'
export { read } from './reason/reader.ts'
export type { Literal } from './reason/solver.ts'
export { isText } from './reason/texts.ts'
export { type Form, type Guess, type ValuePlace, ClaimsWorld } from './reason/world.ts'
export { dyn } from './types.ts'
export { checkMatcher, type MatcherError, type MatcherVerdict, maxBytes, utf8Length } from './matcher.ts'
