import { createJudge, type Judge, type Settings, type World } from '../engine/index.ts'
import type { Release } from '../release/index.ts'

interface Changing {
  readonly settings: () => Settings
  /** Returns the installed release; undefined when it is not known. */
  readonly release: () => Release | undefined
  /** Changes the settings for this judge only, for example to another mode. */
  readonly counting?: (settings: Settings) => Settings
}

/** Returns the judge for the current settings and the installed release; makes a new one when these have changed. */
export function latestJudge(
  world: Omit<World, 'settings' | 'release'>,
  { settings, release, counting = (all) => all }: Changing,
): () => Judge {
  let made: { readonly by: Settings; readonly of: Release | undefined; readonly judge: Judge } | undefined
  return () => {
    const [by, of] = [settings(), release()]
    if (made?.by !== by || made.of !== of) {
      const judge = createJudge({ ...world, settings: counting(by), release: of ?? 'specification' })
      made = { by, of, judge }
    }
    return made.judge
  }
}
