/** A page or section in docs/ that describes something, and the text of a link to it. */
export interface Described {
  readonly text: string
  readonly page: string
  readonly anchor?: string
}

/** The path of a page or section in docs/, from the root of the repository. */
export const pathOf = (described: Described): string => `docs/${placeOf(described)}`

/** The path of a page or section in docs/, from docs/. */
export const placeOf = ({ page, anchor }: Described): string =>
  anchor === undefined ? page : `${page}#${anchor}`

/**
 * The description of a rule's source: for `2.4.1` a section of docs/model.md, for `decision 14` a section of
 * docs/decisions.md.
 */
export function describedSource(source: string): Described {
  const [, number] = /^decision (\d+)$/.exec(source) ?? []
  return number === undefined
    ? { text: `section ${source}`, page: 'model.md', anchor: `section-${source}` }
    : { text: source, page: 'decisions.md', anchor: `decision-${number}` }
}

/** The description of the id at the end of a finding: the page docs/rules/ID.md. */
export const describedId = (id: string): Described => ({ text: id, page: `rules/${id}.md` })

/** The URL of a public thread that is written `owner/repository#number`. */
export const threadUrl = (thread: string): string => `https://github.com/${thread.replace('#', '/issues/')}`
