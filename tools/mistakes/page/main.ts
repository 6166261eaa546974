import type { CoverageData } from '../report.ts'
import { counted } from '../../../src/cli/output/report.ts'
import type { Made } from '../run.ts'
import { type Counts, countsOf, isMissed } from '../summary.ts'
import { breakable, type Child, dataOf, element, h } from '../../../src/pages/dom.ts'
import { startTheme } from '../../../src/pages/theme.ts'

const data = dataOf('coverage') as CoverageData
const search = element('search', HTMLInputElement)
const onlyMissed = element('only-missed', HTMLInputElement)
const withUndecidable = element('undecidable', HTMLInputElement)

/** Most mistakes that are listed. */
const MOST = 500

const HEADS = ['mistakes', 'decidable', 'editor', 'check', 'denied', 'warned', 'CRD', 'nobody']
const cellsOf = (counts: Counts): number[] => [
  ...[counts.mistakes, counts.decidable, counts.editor, counts.check],
  ...[counts.denied, counts.warned, counts.crd, counts.missed],
]

function table(
  title: string,
  first: string,
  rows: readonly (readonly [name: Child, hint: string | undefined, counts: Counts])[],
): HTMLElement {
  return h(
    'section',
    { class: 'namespace' },
    h('h2', {}, title),
    h(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': title },
      h(
        'table',
        { class: 'counts' },
        h('thead', {}, h('tr', {}, ...[first, ...HEADS].map((head) => h('th', { scope: 'col' }, head)))),
        h(
          'tbody',
          {},
          ...rows.map(([name, hint, counts]) =>
            h(
              'tr',
              { class: counts.missed > 0 ? 'missed' : '' },
              h('th', { scope: 'row', title: hint }, name),
              ...cellsOf(counts).map((count) => h('td', {}, count === 0 ? '–' : String(count))),
            ),
          ),
        ),
      ),
    ),
  )
}

function whoCatches({ editor, check, webhook, crd, advice }: Made): string {
  const said = [
    ...(editor ? ['the editor'] : []),
    ...(check ? ['check'] : []),
    ...(webhook === 'denied' ? ['the webhook denies it'] : webhook === 'warned' ? ['the webhook warns'] : []),
    ...(crd ? ['the CRD refuses it'] : []),
    ...(advice ? ['as advice only'] : []),
  ]
  return said.length === 0 ? 'nobody' : said.join(', ')
}

const show = (made: Made): HTMLElement =>
  h(
    'article',
    { class: 'card' },
    h('p', {}, h('strong', {}, made.class), ` · ${made.kind} ${made.namespace}/${made.name} · ${made.file}`),
    h('p', {}, h('code', {}, ...breakable(made.path)), ': ', h('code', {}, ...breakable(made.change))),
    h(
      'p',
      { class: 'hint' },
      `Caught by: ${whoCatches(made)}`,
      made.undecidable === undefined ? '' : `. Not decidable: ${data.undecidable[made.undecidable] ?? ''}`,
    ),
  )

function list(): void {
  const words = search.value.toLowerCase().split(/\s+/)
  const found = data.made.filter((made) => {
    if (!withUndecidable.checked && made.undecidable !== undefined) return false
    if (
      onlyMissed.checked &&
      !(isMissed(made) || (made.undecidable !== undefined && whoCatches(made) === 'nobody'))
    )
      return false
    const text = [made.class, made.kind, made.namespace, made.name, made.file, made.path, made.change]
    return words.every((word) => text.join(' ').toLowerCase().includes(word))
  })
  const more = found.length > MOST ? `, the first ${MOST} are shown` : ''
  element('status', HTMLElement).textContent = counted(found.length, 'mistake') + more
  element('mistakes', HTMLElement).replaceChildren(...found.slice(0, MOST).map(show))
}

const tile = (count: string, text: string, style = ''): HTMLElement =>
  h('li', { class: style }, h('strong', {}, count), ` ${text}`)

startTheme()
const counts = countsOf(data.made)
element('scope', HTMLElement).textContent = data.scope
element('tiles', HTMLElement).append(
  tile(String(counts.decidable), 'decidable mistakes'),
  tile(String(counts.caught), 'caught by check or the webhook'),
  tile(String(counts.crd), 'refused by the CRDs'),
  tile(String(counts.missed), 'caught by nobody', counts.missed > 0 ? 'error' : ''),
)
element('summary', HTMLElement).append(...data.summary.map((line) => h('p', { class: 'hint' }, line.trim())))
element('tables', HTMLElement).append(
  table(
    'By class',
    'class',
    data.classes.map(([name, what, of]) => [name, what, of] as const),
  ),
  table(
    'By field',
    'field',
    data.fields.map(([name, of]) => [breakable(name), undefined, of] as const),
  ),
)
for (const input of [search, onlyMissed, withUndecidable]) input.addEventListener('input', list)
list()
