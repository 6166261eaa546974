import { DEFAULT_API_GROUP } from '../kinds/index.ts'
import {
  ALL_IDS,
  parseSeveritySetting,
  type Profile,
  type Settings,
  severitiesOf,
  type SeveritySetting,
} from '../engine/index.ts'
import { type Configuration, holdsAt } from './file.ts'
import { choice, type Flag, text, toggle } from './flags.ts'

const severity: Flag<readonly SeveritySetting[]> = {
  help: 'change the severity of a rule: ID[:PATH]=error|warning|advice|off[@NAMESPACE,...]; may be repeated, the last that applies counts',
  argument: 'SETTING',
  repeated: true,
  fallback: [],
  read: (value, before) => {
    const setting = parseSeveritySetting(value, ALL_IDS)
    if (typeof setting === 'string') throw new Error(setting)
    return [...before, setting]
  },
}

/** The flags that determine the findings: the same for the server and the CLI. */
export const JUDGING_FLAGS = {
  'api-group': text('API group of the resources', 'GROUP', DEFAULT_API_GROUP),
  profile: choice(
    'severities to begin with: standard, or strict, which makes errors of warnings that are wrong for certain, see docs/rules',
    ['standard', 'strict'],
    undefined,
  ),
  severity,
}

/** The flag of the CLI for the configuration file. */
export const CONFIGURATION_FLAG = {
  'config-file': text(
    'file of settings and exemptions, or off; by default vmcp-admission.yaml beside the manifests or above them, see docs/configuration.md',
    'FILE',
    '',
  ),
}

/** The flag that disables comments and annotations that ignore findings, for judging manifests that are not trusted. */
export const IGNORES_FLAG = {
  'no-ignores': toggle(
    'comments and annotations of the manifests ignore nothing, whatever the configuration file says',
  ),
}

interface Flags {
  readonly profile: Profile | undefined
  readonly severity: readonly SeveritySetting[]
  readonly 'no-ignores'?: boolean
}

export const chosenProfile = (flags: Pick<Flags, 'profile'>, { profile }: Configuration): Profile =>
  flags.profile ?? profile ?? 'standard'

/**
 * The settings from the flags and the configuration file, without exemptions that are expired at `now` (Unix
 * milliseconds). Severities from flags come last, because the last one takes precedence.
 */
export function chosenSettings(flags: Flags, configuration: Configuration, now: number): Settings {
  const { severities, exemptions, leftOut } = configuration
  const allowIgnores = flags['no-ignores'] === true ? 'none' : configuration.allowIgnores
  return {
    mode: 'enforce',
    severities: [...severitiesOf(chosenProfile(flags, configuration)), ...severities, ...flags.severity],
    exemptions: exemptions.filter((each) => holdsAt(each, now)),
    allowIgnores: allowIgnores ?? 'by default',
    leftOut,
  }
}
