export type { EntityName, Expr, Policy } from './ast.ts'
export { type Parsed, parsePolicy } from './parser.ts'
