import type { Replacement, Sink } from '../cluster/index.ts'
import type { Kind } from '../kinds/kind.ts'
import type { Standing } from '../review/standing.ts'
import type { World } from '../review/world.ts'
import { isObject } from '../rule/resource.ts'

/** How long objects are judged at a stretch in the background, and how often, in milliseconds: a quarter of one core. */
const STRETCH = 10
const EVERY = 40

/** Feeds the world and what stands in it from the cluster. */
export class View implements Sink {
  readonly #world: World
  readonly #standing: Standing

  constructor(world: World, standing: Standing) {
    this.#world = world
    this.#standing = standing
  }

  put(kind: Kind, resource: unknown): void {
    this.#standing.put(kind, resource)
  }

  remove(kind: Kind, resource: unknown): void {
    const { namespace, name } = placeOf(resource)
    this.#standing.remove(kind, namespace, name)
  }

  reconsider({ kind }: Kind, namespace: string | undefined): void {
    this.#standing.reconsider(kind, namespace)
  }

  replace(kind: Kind, namespace: string | undefined): Replacement {
    const listed = new Set<string>()
    return {
      add: (resources) => {
        for (const resource of resources) {
          const place = placeOf(resource)
          listed.add(`${place.namespace}/${place.name}`)
          this.#standing.put(kind, resource)
        }
      },
      commit: () => {
        const gone = [...this.#world.all(kind.kind, namespace)].filter(
          (place) => !listed.has(`${place.namespace}/${place.name}`),
        )
        for (const place of gone) this.#standing.remove(kind, place.namespace, place.name)
      },
    }
  }

  /** Judges what waits, a little at a time, until the signal. Nothing is kept alive by it. */
  keepJudging(signal: AbortSignal): void {
    const timer = setInterval(() => {
      const end = performance.now() + STRETCH
      while (this.#standing.waiting > 0 && performance.now() < end) this.#standing.work(1)
    }, EVERY)
    timer.unref()
    signal.addEventListener('abort', () => clearInterval(timer))
  }
}

function placeOf(resource: unknown): { namespace: string; name: string } {
  const metadata = isObject(resource) && isObject(resource.metadata) ? resource.metadata : {}
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  return { namespace: text(metadata.namespace), name: text(metadata.name) }
}
