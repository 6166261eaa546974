import { fitsGlob } from '../../../rule/index.ts'
import { choice, type Flag, text, type Values } from '../../../configuration/flags.ts'
import { CONFIGURATION_FLAG, JUDGING_FLAGS } from '../../../configuration/judging.ts'
import { readRelease } from '../../../access/role/releases.ts'
import type { Configuration } from '../../../configuration/file.ts'
import { NO_RELEASE } from '../../../configuration/known-releases.ts'
import { CLUSTER_FLAGS } from '../../input/cluster-flags.ts'
import { READING_FLAGS } from '../../input/reading.ts'

const texts = (help: string, argument: string): Flag<readonly string[]> => ({
  help,
  argument,
  repeated: true,
  fallback: [],
  read: (written, before) => {
    if (written.trim() === '') throw new Error('a value is missing')
    return [...before, written]
  },
})

export const ACCESS_FLAGS = {
  'deny-new': texts(
    'exit with 1 when somebody newly gets a role that fits, or when that is not decided; * and ? as in a shell; may be repeated',
    'PATTERN',
  ),
  who: texts(
    'print who gets a role that fits in one state, and an example of each caller; * and ? as in a shell; may be repeated',
    'PATTERN',
  ),
  claims: texts(
    'compare for this caller only, or with --config print the role of this one: a JSON object or a JWT in a file; may be repeated',
    'FILE',
  ),
  config: text(
    'the awsSts configuration: a file, FILE#NAME for one of many, or - for standard input; with --cluster NAME or NAMESPACE/NAME',
    'FILE',
    '',
  ),
  release: {
    ...text(
      'the release of the operator whose gateways decide, such as 0.58; without it that of the configuration file, or else all of them',
      'RELEASE',
      '',
    ),
    read: (written: string) => (written === NO_RELEASE ? written : readRelease(written)),
  },
  output: choice('format of the output', ['human', 'markdown', 'json', 'sarif'], 'human'),
  ...READING_FLAGS,
  'api-group': JUDGING_FLAGS['api-group'],
  ...CONFIGURATION_FLAG,
  ...CLUSTER_FLAGS,
}

export type Flags = Values<typeof ACCESS_FLAGS>

/** The flags; when they name no operator release, with the release that the configuration file names; empty for none. */
export function withRelease<F extends { readonly release: string }>(flags: F, given: Configuration): F {
  const release = (flags.release || given.release) ?? NO_RELEASE
  return { ...flags, release: release === NO_RELEASE ? '' : release }
}

/** Returns a function that tells whether a name matches one of the patterns (`*` and `?`). */
export function fits(patterns: readonly string[]): (name: string) => boolean {
  return (name) => patterns.some((pattern) => fitsGlob(pattern, name, '?'))
}
