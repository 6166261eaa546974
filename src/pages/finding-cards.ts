import type { Told } from '../cli/output/fold.ts'
import type { Located, ReportedEnd, ReportedFinding, GivenSubject } from '../cli/output/report.ts'
import { breakable, type Child, h, prose } from './dom.ts'
import { badge } from './severity.ts'

/** The description of a rule. */
export interface About {
  readonly summary: string
  readonly why: string
}

/** The page's callbacks for the cards of findings: they describe a rule, show a place in the text, create buttons. */
export interface CardOptions {
  readonly aboutOf: (id: string) => About | undefined
  /** Shows a place in the editor; when absent, places are plain text. */
  readonly goTo?: (place: Located) => void
  /** Creates the buttons of a finding. */
  readonly actionsOf?: (finding: ReportedFinding) => Child
  /** Creates the buttons in the explanation of a rule. */
  readonly examplesOf?: (id: string) => Child
}

/** A list of findings, with a heading for each object. */
export function findingList(told: readonly Told[], options: CardOptions): HTMLElement[] {
  const groups = Map.groupBy(told, ({ finding }) => headOf(finding))
  return Array.from(groups, ([, [first, ...others]]) =>
    first === undefined
      ? h('section')
      : h(
          'section',
          { class: 'object' },
          h(
            'h3',
            {},
            h('span', { class: 'kind' }, first.finding.kind),
            ' ',
            ...breakable(nameOf(first.finding)),
          ),
          h('ul', { class: 'cards' }, ...[first, ...others].map((each) => card(each, options))),
        ),
  )
}

const headOf = ({ file, kind, namespace, name }: ReportedFinding): string =>
  JSON.stringify([file, kind, namespace, name])

const nameOf = ({ name, namespace }: GivenSubject): string =>
  namespace === 'default' ? name : `${namespace}/${name}`

/** The message of a finding without the id at its end. */
export const textOf = ({ message, id }: Pick<ReportedFinding, 'message' | 'id'>): string =>
  message.replace(` (${id})`, '')

function card({ finding, others }: Told, options: CardOptions): HTMLElement {
  const { severity, id, path, related } = finding
  const { aboutOf, actionsOf, examplesOf } = options
  const about = aboutOf(id)
  return h(
    'li',
    { class: `card ${severity}`, 'data-severity': severity, ...dataOf(finding) },
    h(
      'div',
      { class: 'card-head' },
      badge(severity),
      h('code', { class: 'id' }, ...breakable(id)),
      placeOf(finding, options),
    ),
    h(
      'p',
      { class: 'message' },
      path === '' ? undefined : [h('code', { class: 'path' }, ...breakable(path)), ' '],
      ...breakable(textOf(finding)),
    ),
    related.length + others.length === 0
      ? undefined
      : h(
          'ul',
          { class: 'ends' },
          ...related.map((end) => endItem(end, finding, options)),
          ...others.map((other) => otherItem(other, options)),
        ),
    h(
      'div',
      { class: 'card-foot' },
      actionsOf?.(finding),
      about &&
        h(
          'details',
          { class: 'why' },
          h('summary', {}, 'Why', h('span', { class: 'hidden' }, ` ${id}`)),
          h('p', {}, ...prose(about.summary)),
          h('p', {}, ...prose(about.why)),
          examplesOf?.(id),
        ),
    ),
  )
}

/** Attributes of a card, used by tests and by the search. */
const dataOf = ({ line, column, id }: ReportedFinding) => ({
  'data-id': id,
  'data-place': `${line}:${column}`,
})

function placeOf(place: Located & GivenSubject, { goTo }: CardOptions, label = `line ${place.line}`): Child {
  if (place.line === 0) return undefined
  if (goTo === undefined) return h('span', { class: 'place' }, `${place.file ?? ''}:${place.line}`)
  const show = () => {
    goTo(place)
  }
  const hidden = h('span', { class: 'hidden' }, `Go to ${place.kind} ${place.name}, `)
  return h('button', { type: 'button', class: 'place', onclick: show }, hidden, label)
}

function endItem(end: ReportedEnd, finding: ReportedFinding, options: CardOptions): HTMLElement {
  const isSame = end.kind === finding.kind && end.name === finding.name
  return h(
    'li',
    {},
    h('span', { class: 'end' }, isSame ? 'in the same object' : `${end.kind} ${end.name}`),
    `: ${end.message} `,
    placeOf(end, options),
  )
}

const otherItem = (other: ReportedFinding, options: CardOptions): HTMLElement =>
  h(
    'li',
    { ...dataOf(other) },
    'same cause: ',
    h('span', { class: 'end' }, `${other.kind} ${other.name}`),
    ` (${other.severity}) `,
    placeOf(other, options),
  )
