import { foldCauses } from '../../cli/output/fold.ts'
import type { AuditData } from '../../cli/output/html.ts'
import { counted, type Located } from '../../cli/output/report.ts'
import { breakable, dataOf, element, h } from '../dom.ts'
import { findingList } from '../finding-cards.ts'
import { legend, planSection } from '../plans.ts'
import { startTheme } from '../theme.ts'

const data = dataOf('audit') as AuditData
const search = element('search', HTMLInputElement)
const status = element('status', HTMLElement)
const main = element('namespaces', HTMLElement)
const KINDS = ['error', 'warning', 'advice', 'plans'] as const
const boxes = KINDS.map((kind) => [kind, element(`show-${kind}`, HTMLInputElement)] as const)

const order = { error: 0, warning: 1, advice: 2 } as const
const told = foldCauses(data.findings.toSorted((a, b) => order[a.severity] - order[b.severity]))

/** The names of all namespaces; those with errors come first. */
const names = [
  ...new Set([...data.findings, ...data.plans, ...data.judged].map(({ namespace }) => namespace)),
].toSorted(
  (a, b) =>
    countIn(b, 'error') - countIn(a, 'error') ||
    countIn(b, 'warning') - countIn(a, 'warning') ||
    (a < b ? -1 : 1),
)

function countIn(namespace: string, severity: string): number {
  return data.findings.filter((each) => each.namespace === namespace && each.severity === severity).length
}

function showNamespace(namespace: string): HTMLElement {
  const findings = told.filter(({ finding }) => finding.namespace === namespace)
  const plans = data.plans.filter((plan) => plan.namespace === namespace)
  const resources = data.judged.filter((each) => each.namespace === namespace).length
  return h(
    'section',
    { class: 'namespace', id: `namespace-${namespace}` },
    h('h2', {}, h('span', { class: 'kind' }, 'namespace '), ...breakable(namespace)),
    h('p', { class: 'hint' }, `${counted(resources, 'resource')}, ${summaryOf(namespace)}`),
    ...findingList(findings, { aboutOf: (id) => data.about[id] }),
    ...plans.map(planSection),
  )
}

const summaryOf = (namespace: string): string =>
  [counted(countIn(namespace, 'error'), 'error'), counted(countIn(namespace, 'warning'), 'warning')].join(
    ', ',
  )

const tile = (count: number, text: string, style = ''): HTMLElement =>
  h('li', { class: style }, h('strong', {}, String(count)), ` ${text}`)

const line = ({ message }: Located): HTMLElement => h('p', { class: 'note' }, message)

/** Hides findings that do not contain the searched words or whose severity is not selected. */
function filter(): void {
  const words = search.value.toLowerCase().split(/\s+/)
  const shown = new Map(boxes.map(([kind, box]) => [kind as string, box.checked]))
  let findings = 0
  for (const section of main.querySelectorAll<HTMLElement>('.namespace')) {
    const name = section.id
    for (const part of section.querySelectorAll<HTMLElement>('.card, .plan')) {
      const kind = part.dataset.severity ?? 'plans'
      const text =
        `${name} ${part.closest('.object')?.querySelector('h3')?.textContent ?? ''} ${part.textContent}`.toLowerCase()
      part.hidden = shown.get(kind) !== true || !words.every((word) => text.includes(word))
      if (!part.hidden && kind !== 'plans') findings++
    }
    for (const object of section.querySelectorAll<HTMLElement>('.object'))
      object.hidden = object.querySelector('.card:not([hidden])') === null
    const isEmpty = section.querySelector('.card:not([hidden]), .plan:not([hidden])') === null
    section.hidden = isEmpty && (words.some((word) => word !== '') || !shown.get('plans'))
  }
  status.textContent = `${findings} of ${counted(told.length, 'finding')} shown, one for each cause`
}

startTheme()
const count = (severity: string) => data.findings.filter((each) => each.severity === severity).length
element('scope', HTMLElement).textContent = data.scope
element('tiles', HTMLElement).append(
  tile(count('error'), 'errors', 'error'),
  tile(count('warning'), 'warnings', 'warning'),
  tile(count('advice'), 'advice', 'advice'),
  tile(data.judged.length, 'resources'),
  tile(data.plans.length, 'gateways'),
  ...(data.ignored === 0 ? [] : [tile(data.ignored, 'ignored')]),
)
element('contents', HTMLElement).append(
  ...names.map((name) => h('li', {}, h('a', { href: `#namespace-${name}` }, name), ` ${summaryOf(name)}`)),
)
main.append(
  ...data.unread.map((each) => h('p', { class: 'problem' }, `cannot read: ${each.message}`)),
  ...data.notes.map(line),
  ...(data.plans.length === 0 ? [] : [legend()]),
  ...names.map(showNamespace),
)
for (const input of [search, ...boxes.map(([, box]) => box)]) input.addEventListener('input', filter)
filter()
