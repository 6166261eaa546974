import {
  type BackendChange,
  type GatewayChange,
  type PlanDifference,
  sidesOf,
} from '../../access/comparison.ts'
import type { Outgoing } from '../../access/outgoing.ts'
import type { Plan } from '../../access/effective-authentication.ts'
import { visible } from './visible.ts'

const CLASSES = [
  '  classDef none fill:#ffebe9,stroke:#cf222e,color:#82071e',
  '  classDef doubtful fill:#fff8c5,stroke:#9a6700,color:#4d2d00,stroke-dasharray:4',
  '  classDef gone fill:#eaeef2,stroke:#6e7781,color:#57606a,stroke-dasharray:4',
]

/** A flowchart of clients, VirtualMCPServers and backends; the arrows are labelled with the credentials. */
export function planMermaid(plans: readonly Plan[]): string {
  const chart = new Flowchart()
  for (const { namespace, name, incoming, authServer, backends } of plans) {
    const gateway = chart.node(['VirtualMCPServer', `${namespace}/${name}`])
    const clients = chart.node(['clients'], incoming.type === 'anonymous' ? 'none' : undefined, 'round')
    chart.edge(clients, gateway, incoming.summary)
    if (authServer !== null) {
      const server = chart.node(['embedded authorization server', authServer.summary], undefined, 'round')
      chart.edge(server, gateway, 'upstream tokens', 'dotted')
    }
    for (const backend of backends) {
      chart.edge(gateway, chart.node(labelOf(backend), classOf(backend)), backend.summary)
    }
  }
  return chart.text('no VirtualMCPServer found')
}

/** A flowchart of the changes; the arrows are labelled with the old and the new value. */
export function changesMermaid(changes: readonly GatewayChange[]): string {
  const chart = new Flowchart()
  for (const { namespace, name, change, incoming, authServer, backends } of changes) {
    const state = change === 'changed' ? [] : [change]
    const gateway = chart.node(
      ['VirtualMCPServer', `${namespace}/${name}`, ...state],
      change === 'removed' ? 'gone' : undefined,
    )
    if (incoming !== null) {
      const anonymous = incoming.new?.type === 'anonymous'
      chart.edge(chart.node(['clients'], anonymous ? 'none' : undefined, 'round'), gateway, both(incoming))
    }
    if (authServer !== null) {
      const server = chart.node(['embedded authorization server'], undefined, 'round')
      chart.edge(server, gateway, both(authServer), 'dotted')
    }
    for (const backend of backends) {
      const node = chart.node(labelOf(backend), backend.new === null ? 'gone' : classOf(backend.new))
      chart.edge(gateway, node, changeLabel(backend), backend.new === null ? 'dotted' : 'plain')
    }
  }
  return chart.text('nothing changes of what a plan shows')
}

const labelOf = ({ kind, name }: Pick<Outgoing, 'kind' | 'name'>) => [name, kind ?? 'not in the group']

function classOf({ credentials }: Outgoing): string | undefined {
  if (credentials === 'sent') return undefined
  return credentials === 'none' ? 'none' : 'doubtful'
}

const both = ({ old, new: now }: PlanDifference<{ readonly summary: string }>) =>
  `${old?.summary ?? 'none'} → ${now?.summary ?? 'none'}`

function changeLabel(backend: BackendChange): string {
  const [before, after] = sidesOf(backend)
  if (backend.change === 'added') return `added: ${after}`
  return backend.change === 'removed' ? `removed: ${before}` : `${before} → ${after}`
}

/** Builds a flowchart. Node ids are numbers, and labels are quoted and escaped, so that no name can act as syntax. */
class Flowchart {
  readonly #lines: string[] = []
  #nodes = 0

  /** Adds a node and returns its id. */
  node(label: readonly string[], style?: string, shape: 'square' | 'round' = 'square'): string {
    const id = `n${this.#nodes}`
    this.#nodes += 1
    const [open, close] = shape === 'round' ? ['([', '])'] : ['[', ']']
    const text = label.map(escaped).join('<br/>')
    this.#lines.push(`  ${id}${open}"${text}"${close}${style === undefined ? '' : `:::${style}`}`)
    return id
  }

  edge(from: string, to: string, label: string, stroke: 'plain' | 'dotted' = 'plain'): void {
    this.#lines.push(`  ${from} ${stroke === 'plain' ? '-->' : '-.->'}|"${escaped(label)}"| ${to}`)
  }

  text(empty: string): string {
    if (this.#nodes === 0) this.node([empty])
    return ['flowchart LR', ...this.#lines, ...CLASSES, ''].join('\n')
  }
}

/**
 * Text for a quoted label: special characters become entities (`#35;`). Three words are split, because Mermaid
 * interprets them even in quotes: `direction LR`, `style` and `classDef`.
 */
function escaped(text: string): string {
  return visible(text)
    .replace(/[^\p{L}\p{N} .,:/()_→-]/gu, entity)
    .replace(/(?<=directio)n(?=\s)|(?<=styl)e|(?<=classDe)f/g, entity)
}

const entity = (character: string): string => `#${character.codePointAt(0) ?? 0};`
