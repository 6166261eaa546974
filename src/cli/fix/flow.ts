import { isObject } from '../../rule/index.ts'

/** Writes a value on one line, with quotes only when YAML needs them. */
export function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (isObject(value))
    return `{${Object.entries(value)
      .map(([key, member]) => `${key}: ${flow(member)}`)
      .join(', ')}}`
  return typeof value === 'string' && isPlain(value) ? value : JSON.stringify(value)
}

/** Whether a text needs no quotes: it begins with a letter, and YAML 1.1 does not parse it as another type. */
const isPlain = (text: string): boolean =>
  (/^\d+[hms]$/.test(text) || /^[A-Za-z][\w./-]*$/.test(text)) &&
  !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(text)
