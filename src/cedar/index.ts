export { type EntityName, type CedarExpr, partsOf, type CedarPolicy, type Variable } from './ast.ts'
export {
  type Attribute,
  type Fault,
  isDecimal,
  JSON_TYPES,
  type Origin,
  type PolicyOutcome,
  outcomeOf,
  type Requests,
  TYPE,
} from './outcomes.ts'
export { isFunction, type Parsed, parsePolicy } from './parser.ts'
