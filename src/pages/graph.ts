import type { Plan } from '../access/effective-authentication.ts'
import type { Outgoing } from '../access/outgoing.ts'
import { breakable, type Child, h, svg } from './dom.ts'

/**
 * Whether credentials are sent over a connection. `none` also when credentials are configured, but the token that
 * they need does not exist.
 */
type State = 'sent' | 'none' | 'unknown'

/** A box of the picture; `from`: the ids of the boxes from which lines lead to it. */
interface Box {
  readonly id: string
  readonly from: readonly string[]
  readonly state: State
  readonly content: readonly Child[]
}

interface Column {
  readonly title: string
  readonly boxes: readonly Box[]
}

/**
 * A picture of the effective authentication of a VirtualMCPServer (`plan`): from left to right, boxes with text that
 * lines connect.
 */
export function graph(plan: Plan): HTMLElement {
  const columns = columnsOf(plan)
  const lines = svg('svg', { class: 'lines', 'aria-hidden': 'true', focusable: 'false' })
  const elements = new Map<string, HTMLElement>()
  const figure = h(
    'div',
    { class: 'graph', role: 'group', 'aria-label': `Effective authentication of ${plan.name}` },
    lines,
    ...columns.map(({ title, boxes }) =>
      h(
        'div',
        { class: `column ${title.toLowerCase()}` },
        h('h4', {}, title),
        h(
          'ul',
          {},
          ...boxes.map(({ id, state, content }) => {
            const box = h('li', { class: `box ${state}` }, ...content)
            elements.set(id, box)
            return box
          }),
        ),
      ),
    ),
  )
  const draw = () => {
    drawLines(lines, figure, columns, elements)
  }
  new ResizeObserver(draw).observe(figure)
  return figure
}

function drawLines(
  lines: SVGSVGElement,
  figure: HTMLElement,
  columns: readonly Column[],
  elements: ReadonlyMap<string, HTMLElement>,
): void {
  const whole = figure.getBoundingClientRect()
  lines.setAttribute('viewBox', `0 0 ${whole.width} ${whole.height}`)
  lines.setAttribute('width', String(whole.width))
  lines.setAttribute('height', String(whole.height))
  const paths = columns.flatMap(({ boxes }) =>
    boxes.flatMap(({ id, from, state }) =>
      from.flatMap((source) => {
        const [start, end] = [elements.get(source), elements.get(id)].map((each) =>
          each?.getBoundingClientRect(),
        )
        if (start === undefined || end === undefined) return []
        return [line(start, end, whole, state)]
      }),
    ),
  )
  lines.replaceChildren(...paths)
}

/**
 * A line between two boxes: from the right side of the first to the left side of the second or, if the second is below,
 * from the bottom of the first to the top of the second.
 */
function line(start: DOMRect, end: DOMRect, whole: DOMRect, state: State): SVGElement {
  const isBelow = end.left < start.right
  const [x1, y1] = isBelow
    ? [start.left + start.width / 2, start.bottom]
    : [start.right, start.top + start.height / 2]
  const [x2, y2] = isBelow ? [end.left + end.width / 2, end.top] : [end.left, end.top + end.height / 2]
  const move = (x: number, y: number) => `${x - whole.left} ${y - whole.top}`
  const middle = (x1 + x2) / 2
  const way = isBelow
    ? `M${move(x1, y1)}L${move(x2, y2 - 5)}`
    : `M${move(x1, y1)}C${move(middle, y1)} ${move(middle, y2)} ${move(x2 - 5, y2)}`
  const head = isBelow
    ? `M${move(x2 - 4, y2 - 7)}L${move(x2, y2 - 1)}L${move(x2 + 4, y2 - 7)}Z`
    : `M${move(x2 - 7, y2 - 4)}L${move(x2 - 1, y2)}L${move(x2 - 7, y2 + 4)}Z`
  return svg('g', { class: state }, svg('path', { d: way }), svg('path', { class: 'head', d: head }))
}

const title = (text: string): HTMLElement => h('strong', {}, ...breakable(text))
const line2 = (text: string): HTMLElement => h('span', {}, ...breakable(text))

function columnsOf({ name, namespace, group, incoming, authServer, backends }: Plan): Column[] {
  const isAnonymous = incoming.type === 'anonymous'
  const isKnown = isAnonymous || (incoming.type === 'oidc' && incoming.reason === null)
  const clientState = isAnonymous ? 'none' : isKnown ? 'sent' : 'unknown'
  const holderOf = ({ provider }: TokenSource) =>
    authServer !== null && provider !== null ? 'server' : 'gateway'
  // The sources of tokens are sorted like the boxes from which they get tokens, so that few lines cross.
  const sources = [...new Map(backends.map(sourceOf).map((source) => [source.id, source])).values()].toSorted(
    (a, b) => Number(holderOf(a) === 'server') - Number(holderOf(b) === 'server'),
  )
  const order = new Map(sources.map(({ id }, i) => [id, i]))
  const placeOf = (backend: Outgoing) => order.get(sourceOf(backend).id) ?? 0
  return [
    {
      title: 'Clients',
      boxes: [
        {
          id: 'clients',
          from: [],
          state: clientState,
          content: isAnonymous
            ? [title('Anyone'), line2('anonymous: no authentication, no access control')]
            : [title(incoming.type === 'oidc' ? 'OIDC tokens' : 'Not known'), ...incomingLines(incoming)],
        },
      ],
    },
    {
      title: 'Gateway',
      boxes: [
        {
          id: 'gateway',
          from: ['clients'],
          state: clientState,
          content: [
            title(name),
            line2(`VirtualMCPServer in ${namespace}`),
            line2(group.name === null ? (group.reason ?? '') : `MCPGroup ${group.name}`),
            group.name !== null && group.reason !== null ? line2(group.reason) : undefined,
          ],
        },
        ...(authServer === null
          ? []
          : [
              {
                id: 'server',
                from: ['clients'],
                state: 'sent' as const,
                content: [
                  title('Authorization server'),
                  line2(`issuer ${authServer.issuer ?? 'not known'}`),
                  h(
                    'span',
                    { class: 'chips' },
                    'login at ',
                    ...authServer.providers.map((each) => h('span', { class: 'chip' }, each)),
                    authServer.complete ? undefined : 'others that are not known',
                  ),
                ],
              },
            ]),
      ],
    },
    {
      title: 'Credentials',
      boxes: sources.map((source) => ({ ...source, from: [holderOf(source)] })),
    },
    {
      title: 'Backends',
      boxes: backends
        .toSorted((a, b) => placeOf(a) - placeOf(b))
        .map((backend) => ({
          id: `backend ${backend.kind ?? ''} ${backend.name}`,
          from: [sourceOf(backend).id],
          state: stateOf(backend),
          content: [
            title(backend.name),
            line2(backend.kind ?? 'not in the group'),
            line2(backend.summary),
            ...backend.notes.map((note) => h('span', { class: 'note' }, ...breakable(note))),
          ],
        })),
    },
  ]
}

function incomingLines({ issuer, audience, oidcType, oidcConfig, reason }: Plan['incoming']): Child[] {
  const from = oidcType === 'kubernetesServiceAccount' ? "the cluster's API server" : (issuer ?? 'not known')
  return [
    line2(`issuer ${from}`),
    line2(`audience ${audience ?? 'not known'}`),
    oidcConfig === null ? undefined : line2(`MCPOIDCConfig ${oidcConfig}`),
    reason === null ? undefined : line2(reason),
  ]
}

const stateOf = ({ credentials }: Outgoing): State =>
  credentials === 'sent' ? 'sent' : credentials === 'unknown' ? 'unknown' : 'none'

interface TokenSource {
  readonly id: string
  readonly provider: string | null
  readonly state: State
  readonly content: readonly Child[]
}

/** The source of a backend's token; backends with the same source share its box. */
function sourceOf(backend: Outgoing): TokenSource {
  const { token, provider, credentials, config, chosen } = backend
  const state = stateOf(backend)
  const made = (key: string, ...content: readonly Child[]): TokenSource => ({
    id: JSON.stringify([key, state]),
    provider: token === 'upstream' ? provider : null,
    state,
    content,
  })
  const named = config === null ? undefined : line2(`MCPExternalAuthConfig ${config}`)
  switch (token) {
    case 'upstream':
      return made(
        `upstream ${provider ?? ''} ${chosen ?? ''}`,
        title(provider ?? 'not known'),
        line2('token of the user at this provider'),
        chosen === 'first' ? line2('the first provider, chosen by default') : undefined,
        chosen === 'written' ? line2('written by /mutate') : undefined,
      )
    case 'vmcp':
      return made('vmcp', title('vMCP-issued JWT'), line2('exchanged for each call'))
    case 'secret':
      return made(`secret ${config ?? ''}`, title('Secret'), named)
    case 'role':
      return made(`role ${config ?? ''}`, title('AWS role'), named)
    case null:
      return credentials === 'none'
        ? made('none', title('None'), line2('the backend sees no credentials of vMCP'))
        : made('unknown', title('Not known'))
  }
}
