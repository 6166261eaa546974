/** Where something is described: a page in docs/, an anchor on it where it is a part of a page, and how a text names it. */
export interface Described {
  readonly text: string
  readonly page: string
  readonly anchor?: string
}

/** The description as a path from the top of the repository. */
export const pathOf = (described: Described): string => `docs/${placeOf(described)}`

/** The description as a path from docs/. */
export const placeOf = ({ page, anchor }: Described): string =>
  anchor === undefined ? page : `${page}#${anchor}`

/** The description of a source of a rule: `2.4.1` is a section of the model, `decision 14` a decision. */
export function describedSource(source: string): Described {
  const [, number] = /^decision (\d+)$/.exec(source) ?? []
  return number === undefined
    ? { text: `section ${source}`, page: 'model.md', anchor: `section-${source}` }
    : { text: source, page: 'decisions.md', anchor: `decision-${number}` }
}

/** The description of an id that a finding ends with: a page of its own. */
export const describedId = (id: string): Described => ({ text: id, page: `rules/${id}.md` })

/** The address of a public thread, written `owner/repository#number`. */
export const threadUrl = (thread: string): string => `https://github.com/${thread.replace('#', '/issues/')}`
