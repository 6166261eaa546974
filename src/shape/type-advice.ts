import { patternDetail } from '../kinds/pattern-advice.ts'
import { compilePattern } from '../kinds/patterns.ts'
import type { SchemaNode } from './pointer.ts'

const LARGEST_INT32 = 2_147_483_647

/**
 * The end of an error message about a wrong JSON type: how to write the value instead, or an empty text. Never prints
 * the value: it may be a pasted secret.
 */
export function typeAdvice(node: SchemaNode | undefined, value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean')
    return node?.type === 'string' ? asText(node, String(value)) : ''
  if (node === undefined || typeof value !== 'string') return ''
  switch (node.type) {
    case 'boolean':
      return value === 'true' || value === 'false' ? '; write it without quotes' : ''
    case 'integer':
      return isInteger(node, value) ? '; write it without quotes' : ''
    case 'array':
      return node.items?.type === 'string' ? ', such as [A, B]' : ''
    case 'object':
      return referenceTo(node.required ?? [])
    default:
      return ''
  }
}

/**
 * Advice for a number or boolean that must be a string: to put it in quotes or, if the pattern would refuse that, what
 * the pattern requires; empty when the field allows no such string.
 */
function asText({ pattern, enum: values, format }: SchemaNode, text: string): string {
  if (format !== undefined || values?.includes(text) === false) return ''
  if (pattern === undefined || compilePattern(pattern).test(text)) return '; put it in quotes'
  return `; ${patternDetail(pattern)}`
}

function isInteger({ minimum = 0, maximum = LARGEST_INT32 }: SchemaNode, text: string): boolean {
  return /^(0|[1-9]\d{0,9})$/.test(text) && Number(text) >= minimum && Number(text) <= maximum
}

/** An example such as `{name: NAME, key: KEY}` if only these fields, or one of them, are required; else empty. */
function referenceTo(required: readonly string[]): string {
  if (required.length === 0 || !required.every((field) => field === 'name' || field === 'key')) return ''
  return `, such as {${required.map((field) => `${field}: ${field.toUpperCase()}`).join(', ')}}`
}
