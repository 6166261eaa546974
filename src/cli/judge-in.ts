import { ALL_DEFAULTS, createJudge, type Judge, type Settings, type World } from '../engine/index.ts'
import type { Release } from '../release/index.ts'

/** The settings in the flags and the configuration file about judging. */
interface Chosen {
  readonly group: string
  readonly settings: Settings
  /** The release; undefined when none is named or installed. */
  readonly release?: Release | undefined
}

/** Makes a judge with these settings, beside these objects. */
export const judgeIn = ({ group, settings, release }: Chosen, state: World['state']): Judge =>
  createJudge({ group, settings, release: release ?? 'specification', state, defaults: ALL_DEFAULTS })
