import type { Exemption, SeveritySetting } from '../engine/index.ts'
import type { WrittenConfiguration } from './file-schema.ts'

/** The name of the configuration file, which is in the folder of the manifests or in a folder above it. */
export const FILE_NAME = 'vmcp-admission.yaml'

/** Whether the text of a `vmcp-admission.yaml` is a manifest, such as one that installs the webhook. */
export const isManifest = (text: string): boolean => /^apiVersion\s*:/m.test(text) && /^kind\s*:/m.test(text)

export interface FileExemption extends Exemption {
  /** The last day of the exemption, such as `2026-12-31`. */
  readonly expires?: string
  readonly line: number
  readonly column: number
}

/** The content of a configuration file `vmcp-admission.yaml`. */
export interface Configuration {
  /** The path of the configuration file; undefined when there is none. */
  readonly file?: string
  readonly profile?: WrittenConfiguration['profile']
  readonly severities: readonly SeveritySetting[]
  readonly exemptions: readonly FileExemption[]
  readonly allowIgnores?: WrittenConfiguration['allowIgnores']
  readonly defaultNamespace: string
  readonly leftOut: readonly string[]
  readonly placeholders: readonly string[]
  /** The operator release to judge for, such as `0.63`; with `none` the specification alone decides. */
  readonly release?: string
}

export const NO_CONFIGURATION: Configuration = {
  severities: [],
  exemptions: [],
  defaultNamespace: '',
  leftOut: [],
  placeholders: [],
}

/** Whether an exemption is still valid at the time `now` (Unix milliseconds); its last day ends at midnight UTC. */
export const holdsAt = ({ expires }: FileExemption, now: number): boolean =>
  expires === undefined || now < Date.parse(`${expires}T00:00:00Z`) + 24 * 3_600_000
