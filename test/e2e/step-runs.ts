/** Brings a cluster from one random state to another by the planned steps, and verifies what the API server stores. */
import { setTimeout } from 'node:timers/promises'
import { isObject } from '../../src/rule/resource.ts'
import { planSteps, type PlanStep, type StepsPlan } from '../../src/steps/plan.ts'
import { itemsOf } from '../../src/steps/states.ts'
import { keyOf, observe, questionOf, READING, type StatePair, wrongIn } from '../support/step-pairs.ts'
import type { ApiServer } from './api-server.ts'
import { apply, remove, type Resource, stored } from './resources.ts'

/** Writes an object. Resolves to the stored object, to undefined after a deletion, or to the text of a refusal. */
export type Write = (
  api: ApiServer,
  resource: Resource,
  isDeletion: boolean,
) => Promise<Resource | undefined | string>

export const throughTheApi: Write = async (api, resource, isDeletion) => {
  const { status, body } = await (isDeletion ? remove : apply)(api, resource)
  if (status >= 300) return `${status} ${body.message ?? ''}`
  return isDeletion ? undefined : body
}

export const withKubectl: Write = async (api, resource, isDeletion) => {
  const way = isDeletion
    ? ['delete', '--wait=false']
    : ['apply', '--server-side', '--force-conflicts', '--field-manager=delivery', '-o', 'json']
  const { code, stdout, stderr } = await api.kubectl([...way, '-f', '-'], { stdin: JSON.stringify(resource) })
  if (code !== 0) return stderr
  return isDeletion ? undefined : (JSON.parse(stdout) as Resource)
}

export interface Run {
  readonly plan: StepsPlan
  /** The mistake that was found; undefined when there was none. */
  readonly wrong: string | undefined
}

const ROUNDS = 4

/** Stores the old state through the webhook, plans the steps to the new state from what is stored, and takes them. */
export async function runPair(api: ApiServer, pair: StatePair, write: Write): Promise<Run | undefined> {
  const there = new Map<string, Resource>()
  let left = pair.old as readonly Resource[]
  for (let round = 0; left.length > 0 && round < ROUNDS; round++) {
    const refused: Resource[] = []
    for (const resource of left) {
      const { status, body } = await apply(api, resource)
      if (status < 300) there.set(keyOf(resource), body)
      else refused.push(resource)
    }
    left = refused
  }
  if (left.length > 0) return undefined
  const values = [...there.values()]
  const question = questionOf(pair, { old: itemsOf(values, READING), isStored: true })
  const plan = planSteps(question)
  const seen = [observe(there.values())]
  for (const step of plan.steps) {
    const resource = resourceOf(step)
    const key = keyOf(resource)
    const result = await write(api, resource, step.verb === 'delete')
    if (typeof result === 'string') return { plan, wrong: `step ${step.number}: ${result}` }
    if (result === undefined) there.delete(key)
    else there.set(key, result)
    seen.push(observe(there.values()))
    // Gives the webhook's cache time to receive the write: the defaults of /mutate depend on it.
    await setTimeout(30)
  }
  return { plan, wrong: (await differenceAtEnd(api, pair, there)) ?? wrongOnTheWay(plan, seen) }
}

const resourceOf = ({ kind, namespace, name, value, before }: PlanStep): Resource => {
  const { apiVersion, spec } = (value ?? before) as Resource
  const { annotations } = isObject(value) ? (value as unknown as Resource).metadata : {}
  return { apiVersion, kind, metadata: { name, namespace, ...(annotations && { annotations }) }, spec }
}

function wrongOnTheWay(plan: StepsPlan, seen: readonly ReturnType<typeof observe>[]): string | undefined {
  const [old, now] = [seen[0], seen.at(-1)]
  if (plan.outcome !== 'order' || old === undefined || now === undefined) return undefined
  return seen.flatMap((here, i) => wrongIn(here, old, now).map(({ text }) => `after step ${i}: ${text}`))[0]
}

async function differenceAtEnd(
  api: ApiServer,
  pair: StatePair,
  there: ReadonlyMap<string, Resource>,
): Promise<string | undefined> {
  const wanted = new Map(pair.new.map((object) => [keyOf(object), object]))
  const left = [...there.keys()].filter((key) => !wanted.has(key))
  if (left.length > 0) return `${left.join()} is left`
  for (const [key, object] of wanted) {
    const found = await stored(api, object)
    if (!holds(found?.spec ?? {}, object.spec ?? {}))
      return `${key} is not the new one: ${JSON.stringify(found?.spec)}`
  }
  for (const object of pair.old) {
    if (!wanted.has(keyOf(object)) && (await stored(api, object)) !== undefined)
      return `${keyOf(object)} is still there`
  }
  return undefined
}

/** Whether `found` contains everything of `wanted`; lists must have the same length. */
function holds(found: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((each, i) => holds(found[i], each))
    )
  if (isObject(wanted))
    return isObject(found) && Object.entries(wanted).every(([key, each]) => holds(found[key], each))
  return found === wanted
}
