/** Fills the given names in wherever a placeholder stands for them: `${NAME}`, `$NAME`, `{{ NAME }}`, `<NAME>`. */
export function fillPlaceholders(text: string, values: ReadonlyMap<string, string>): string {
  if (values.size === 0) return text
  return text.replace(
    /\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\{\{\s*([\w.]+)\s*\}\}|<([A-Z][A-Z0-9_-]*)>/g,
    (whole, ...names: (string | undefined)[]) => {
      const name = names.slice(0, 4).find((each) => each !== undefined)
      return (name === undefined ? undefined : values.get(name)) ?? whole
    },
  )
}

/**
 * Quotes a template that is a whole YAML value, `region: {{ .Values.region }}`: unquoted it would be a map, which
 * nothing can read. The value begins in the same column.
 */
export function quoteTemplates(text: string): string {
  return text.replace(/^([ \t]*(?:- +)*(?:[\w.-]+:[ \t]+|- +))(\{\{[^{}'\n]*\}\})([ \t]*)$/gm, "$1'$2'$3")
}
