import { DEFAULT_API_GROUP } from '../kinds/index.ts'
import { ALL_IDS } from '../review/engine-ids.ts'
import { type Profile, severitiesOf } from '../review/profiles.ts'
import { parseSeveritySetting, type SeveritySetting } from '../review/settings.ts'
import { choice, type Flag, text } from './flags.ts'

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

/** The settings that decide what is found: the same for the server and the CLI. */
export const JUDGING_FLAGS = {
  'api-group': text('API group of the resources', 'GROUP', DEFAULT_API_GROUP),
  profile: choice(
    'severities to begin with: strict makes errors of warnings that are wrong for certain, see docs/rules',
    ['standard', 'strict'],
    'standard',
  ),
  severity,
}

/** The severities of the profile, and after them those of `--severity`. */
export const chosenSeverities = (flags: {
  readonly profile: Profile
  readonly severity: readonly SeveritySetting[]
}): readonly SeveritySetting[] => [...severitiesOf(flags.profile), ...flags.severity]
