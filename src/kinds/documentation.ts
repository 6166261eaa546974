/** A page or section in docs/ that describes something, and the name for it in a text. */
export interface Described {
  readonly text: string
  readonly page: string
  readonly anchor?: string
}

/** The path of the description from the top of the repository. */
export const pathOf = (described: Described): string => `docs/${placeOf(described)}`

/** The path of the description from docs/. */
export const placeOf = ({ page, anchor }: Described): string =>
  anchor === undefined ? page : `${page}#${anchor}`

/**
 * The description of a source of a rule: `2.4.1` is a section of docs/model.md, `decision 14` one of docs/decisions.md.
 */
export function describedSource(source: string): Described {
  const [, number] = /^decision (\d+)$/.exec(source) ?? []
  return number === undefined
    ? { text: `section ${source}`, page: 'model.md', anchor: `section-${source}` }
    : { text: source, page: 'decisions.md', anchor: `decision-${number}` }
}

/** The description of the id at the end of a finding: a page of its own. */
export const describedId = (id: string): Described => ({ text: id, page: `rules/${id}.md` })

/** The address of a public thread, written `owner/repository#number`. */
export const threadUrl = (thread: string): string => `https://github.com/${thread.replace('#', '/issues/')}`
