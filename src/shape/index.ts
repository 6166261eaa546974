export { edited, renameFix } from './fixes.ts'
export { FORMATS } from './formats.ts'
export { fieldOf, isKeyOfMap, type SchemaNode, segmentsOf } from './pointer.ts'
export { ANYTHING, type Contents, outside, shape } from './shape.ts'
