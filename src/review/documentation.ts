import { allRules, placesOf } from '../kinds/places.ts'

/** Where something is described: a page in docs/, an anchor on it, and how a text names it. */
export interface Described {
  readonly text: string
  readonly page: string
  readonly anchor: string
}

/** The description as a path from the top of the repository. */
export const pathOf = ({ page, anchor }: Described): string => `docs/${page}#${anchor}`

/** The description of a source of a rule: `2.4.1` is a section of the model, `decision 14` a decision. */
export function describedSource(source: string): Described {
  const [, number] = /^decision (\d+)$/.exec(source) ?? []
  return number === undefined
    ? { text: `section ${source}`, page: 'model.md', anchor: `section-${source}` }
    : { text: source, page: 'decisions.md', anchor: `decision-${number}` }
}

/** The description of an id that a finding ends with; GitHub's anchors are in lower case. */
export const describedId = (id: string): Described => ({
  text: id,
  page: `rules/${rulePageOf(id)}.md`,
  anchor: id.toLowerCase(),
})

/**
 * The page in docs/rules of an id: one for the rules of each kind that look at the resource alone, one for a part that
 * several kinds hold, one for the rules that look at other resources.
 */
export function rulePageOf(id: string): string {
  const rule = allRules().find((each) => each.id === id)
  if (rule === undefined) return /^(?:schema|probe)(?=-)/.exec(id)?.[0] ?? 'engine'
  const places = placesOf(rule)
  if (places.some(({ at }) => at.length > 0)) return 'embedded-auth-server'
  const [place] = places
  return place === undefined || places.length > 1 || rule.reads.length > 0
    ? 'between-resources'
    : kebab(place.kind.kind)
}

/** `MCPOIDCConfig` as `mcp-oidc-config`, which is also the name of its folder in src/kinds. */
const kebab = (kind: string) =>
  kind
    .replaceAll(/MCP|OIDC|[A-Z][a-z]+/g, '-$&')
    .slice(1)
    .toLowerCase()

/** The address of a public thread, written `owner/repository#number`. */
export const threadUrl = (thread: string): string => `https://github.com/${thread.replace('#', '/issues/')}`
