import { withoutEnd } from '../../rule/index.ts'

const PLACEHOLDER = /\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\{\{-?\s*([\w.]+)\s*-?\}\}|<([A-Z][A-Z0-9_-]*)>/g

/**
 * Replaces each placeholder whose name has a value: `${NAME}`, `$NAME`, `{{ NAME }}` or `<NAME>`. Leaves those whose
 * value has several lines, which would move all lines after it.
 */
export function fillPlaceholders(text: string, values: ReadonlyMap<string, string>): string {
  if (values.size === 0) return text
  return text.replace(PLACEHOLDER, (whole, ...names: (string | undefined)[]) => {
    const value = values.get(firstOf(names.slice(0, 4)) ?? '')
    return value === undefined || value.includes('\n') ? whole : value
  })
}

/** The name in a placeholder that has one; undefined for others, such as `{{ .Values.region | quote }}`. */
export function nameOfPlaceholder(placeholder: string): string | undefined {
  const [match] = placeholder.matchAll(PLACEHOLDER)
  return match?.[0] === placeholder ? firstOf(match.slice(1)) : undefined
}

const firstOf = (names: readonly (string | undefined)[]) => names.find((name) => name !== undefined)

/**
 * Quotes YAML values that begin with a template, such as `region: {{ .Values.region }}`, which would otherwise be
 * parsed as a map. The value still begins at the same column.
 */
export function quoteTemplates(text: string): string {
  return text.replace(TEMPLATE_VALUE, (whole, key: string, rest: string, comment: string) => {
    const value = withoutEnd(comment === '' && rest.endsWith('\r') ? rest.slice(0, -1) : rest, ' \t')
    const isApart = comment === '' || value.length < rest.length
    if (!isApart || /\s$/.test(value)) return whole
    return `${key}'${value.replaceAll("'", "''")}'${rest.slice(value.length)}${comment}`
  })
}

/**
 * Matches a line whose value begins with a template. The groups are the text before the value, the text from the
 * value to the end of the line or a comment, and the `#` of the comment.
 */
const TEMPLATE_VALUE = /^([ \t]*(?:- +)*(?:[\w./-]+:[ \t]+|- +))(\{\{[^{}\n]*\}\}[^#\n]*)(#?)/gm
