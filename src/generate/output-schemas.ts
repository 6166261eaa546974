import { OUTPUT_SCHEMAS } from '../cli/output/schemas.ts'
import type { GeneratedFile } from './generated-file.ts'

/** Generates schemas/output: the schemas of `--output json` for each command. */
export function* outputSchemas(): Iterable<GeneratedFile> {
  for (const [name, { of: title, schema }] of Object.entries(OUTPUT_SCHEMAS)) {
    const whole = { $schema: 'http://json-schema.org/draft-07/schema#', title, ...schema }
    yield { path: `schemas/output/${name}.json`, text: `${JSON.stringify(whole, null, 2)}\n` }
  }
}
