import type { Plan } from '../access/effective-authentication.ts'
import { breakable, h } from './dom.ts'
import { graph } from './graph.ts'

/** A section of the page about one VirtualMCPServer: the diagram of its authentication, and notes about it. */
export const planSection = (plan: Plan): HTMLElement =>
  h(
    'section',
    { class: 'plan' },
    h(
      'h3',
      {},
      h('span', { class: 'kind' }, 'VirtualMCPServer'),
      ' ',
      ...breakable(plan.namespace === 'default' ? plan.name : `${plan.namespace}/${plan.name}`),
    ),
    ...plan.notes.map((note) => h('p', { class: 'notice' }, ...breakable(note))),
    graph(plan),
    plan.backends.length === 0 ? h('p', { class: 'empty' }, 'No backend was found.') : undefined,
  )

/** The legend that explains the lines in the diagrams of `planSection`. */
export const legend = (): HTMLElement =>
  h(
    'ul',
    { class: 'legend', 'aria-label': 'Lines' },
    h('li', { class: 'sent' }, 'credentials are sent'),
    h('li', { class: 'none' }, 'none, or not available'),
    h('li', { class: 'unknown' }, 'not known'),
  )
