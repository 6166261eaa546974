import { ALL_DEFAULTS, createJudge, type Judge, type Settings, type World } from '../engine/index.ts'
import type { Release } from '../release/index.ts'

/** The settings for judging, from the flags and the configuration file. */
interface Chosen {
  readonly group: string
  readonly settings: Settings
  /** The operator release; undefined when none is named or installed. */
  readonly release?: Release | undefined
}

/** Makes a judge with these settings; its rules look up the other objects in `state`. */
export const judgeIn = ({ group, settings, release }: Chosen, state: World['state']): Judge =>
  createJudge({ group, settings, release: release ?? 'specification', state, defaults: ALL_DEFAULTS })
