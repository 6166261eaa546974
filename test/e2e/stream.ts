import { Agent, request } from 'node:https'
import { setTimeout } from 'node:timers/promises'
import { API_VERSION, DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import type { ApiServer } from './api-server.ts'

export const RESOURCES = `/apis/${DEFAULT_API_GROUP}/${API_VERSION}/namespaces/default/mcpexternalauthconfigs`

/**
 * The outcome of one write. `not patched`: admitted without the defaults, because the mutating webhook failed and its
 * failure policy is Ignore. `no answer`: the API server did not answer, or is starting or stopping.
 */
export const OUTCOMES = [
  'admitted',
  'denied',
  'webhook failed',
  'not patched',
  'wrongly admitted',
  'wrongly denied',
  'no answer',
] as const
type Outcome = (typeof OUTCOMES)[number]

/** Whether an outcome is expected for a write that began at this time. */
export type Excuse = (outcome: Outcome, begun: number) => boolean

interface Tally {
  readonly phase: string
  readonly excuse: Excuse
  readonly counts: Map<Outcome, number>
  readonly texts: Set<string>
  excused: number
  faults: number
}

const ROLE = 'arn:aws:iam::123456789012:role/reader'

/** The spec for one write in ten: it breaks a rule that the admission policies enforce too. */
const WITHOUT_ROLE = { denial: 'aws-sts-role-configured', awsSts: {} }
/** The spec for another one: it breaks a rule that only the webhook enforces. */
const WITHOUT_END = {
  denial: 'role-mapping-matcher-compiles',
  awsSts: { roleMappings: [{ roleArn: ROLE, matcher: '"admins" in' }] },
}
const VALID = { denial: '', awsSts: { fallbackRoleArn: ROLE } }
/** Ten writes, which are repeated in this order; `change` updates the resource that was created last. */
const KINDS = [
  WITHOUT_ROLE,
  VALID,
  VALID,
  VALID,
  VALID,
  WITHOUT_END,
  VALID,
  'change',
  VALID,
  'change',
] as const

/** Writes one resource after the other through the API server and counts the outcomes by phase. */
export class Stream {
  readonly tallies: Tally[] = []
  readonly #api: ApiServer
  readonly #atATime: number
  readonly #pause: number
  readonly #kept: number
  readonly #agent: Agent
  #sent = 0
  #answered = 0
  /** The number in the name of the last resource that was created. */
  #created: number | undefined
  #stopped = false

  /** `pause` is in milliseconds after each write; each resource is deleted after `kept` more creations. */
  constructor(api: ApiServer, atATime: number, pause = 0, kept = Infinity) {
    this.#api = api
    this.#atATime = atATime
    this.#pause = pause
    this.#kept = kept
    this.#agent = new Agent({ keepAlive: true, ca: api.ca })
  }

  get answered(): number {
    return this.#answered
  }

  enter(phase: string, excuse: Excuse = () => false): void {
    this.tallies.push({ phase, excuse, counts: new Map(), texts: new Set(), excused: 0, faults: 0 })
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.#atATime }, () => this.#work()))
    this.#agent.destroy()
  }

  stop(): void {
    this.#stopped = true
  }

  /** Makes this many additional writes at once, so that the API server opens more connections. */
  async burst(writes: number): Promise<void> {
    await Promise.all(Array.from({ length: writes }, () => this.#writeNext()))
  }

  async #work(): Promise<void> {
    while (!this.#stopped) {
      const outcome = await this.#writeNext()
      await setTimeout(outcome === 'no answer' ? 100 : this.#pause)
    }
  }

  async #writeNext(): Promise<Outcome> {
    const begun = performance.now()
    const [outcome, text] = await this.#write(this.#sent++)
    if (outcome !== 'no answer') this.#answered += 1
    // The outcome counts for the phase in which the write ended, because a kill makes the writes in progress fail.
    const tally = this.tallies.at(-1)
    if (tally === undefined) return outcome
    tally.counts.set(outcome, (tally.counts.get(outcome) ?? 0) + 1)
    if (text !== '') tally.texts.add(text.slice(0, 600))
    if (outcome !== 'admitted' && outcome !== 'denied')
      tally[tally.excuse(outcome, begun) ? 'excused' : 'faults'] += 1
    return outcome
  }

  async #write(number: number): Promise<[Outcome, string]> {
    const kind = KINDS[number % KINDS.length] ?? VALID
    if (kind === 'change') {
      if (this.#created === undefined) return this.#create(number, VALID)
      const spec = { awsSts: { region: number % 2 === 0 ? 'us-east-1' : 'us-west-2' } }
      return this.#send('PATCH', `${RESOURCES}/create-${this.#created}`, { spec }, '')
    }
    return this.#create(number, kind)
  }

  async #create(number: number, { denial, awsSts }: { denial: string; awsSts: object }) {
    const spec = { type: 'awsSts', awsSts: { region: 'eu-central-1', ...awsSts } }
    const name = `create-${number}`
    const resource = {
      apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
      kind: 'MCPExternalAuthConfig',
      metadata: { name },
      spec,
    }
    const [outcome, text] = await this.#send('POST', RESOURCES, resource, denial)
    if (outcome === 'admitted') {
      this.#created = number
      if (number >= this.#kept)
        await this.#answer('DELETE', `${RESOURCES}/create-${number - this.#kept}`, '').catch(() => undefined)
    }
    return [outcome, text] as [Outcome, string]
  }

  /** Sends a write that the rule `denial` must deny; if `denial` is empty, it must be admitted. */
  async #send(method: string, path: string, body: object, denial: string): Promise<[Outcome, string]> {
    const answer = await this.#answer(method, path, JSON.stringify(body)).catch((error: unknown) => ({
      status: 0,
      text: String(error),
    }))
    const { status, text } = answer
    if (status === 0) return ['no answer', text]
    if (status === 200 || status === 201) {
      if (denial !== '') return ['wrongly admitted', text]
      return text.includes('"service":"aws-mcp"') ? ['admitted', ''] : ['not patched', '']
    }
    if (denial !== '' && text.includes(denial)) return ['denied', '']
    if (text.includes('failed calling webhook')) return ['webhook failed', text]
    return [401, 403, 429, 503].includes(status) && !text.includes('denied the request')
      ? ['no answer', text]
      : ['wrongly denied', text]
  }

  #answer(method: string, path: string, body: string): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${this.#api.token}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      }
      const options = { method, agent: this.#agent, headers, timeout: 30_000 }
      const sent = request(this.#api.url + path, options, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
        answer.on('error', reject)
      })
      sent.on('timeout', () => sent.destroy(new Error('no answer')))
      sent.on('error', reject).end(body)
    })
  }
}
