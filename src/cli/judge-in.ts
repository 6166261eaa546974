import { ALL_DEFAULTS, createJudge, type Judge, type Settings, type World } from '../engine/index.ts'
import type { Release } from '../release/index.ts'

/** What the flags and the configuration file say about judging. */
interface Chosen {
  readonly group: string
  readonly settings: Settings
  /** The release; undefined where none is named or found. */
  readonly release?: Release | undefined
}

/** The judge with these settings, among these objects. */
export const judgeIn = ({ group, settings, release }: Chosen, state: World['state']): Judge =>
  createJudge({ group, settings, release: release ?? 'specification', state, defaults: ALL_DEFAULTS })
