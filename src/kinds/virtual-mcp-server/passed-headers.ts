import { type Path, pathTo } from '../../rule/index.ts'
import type { Spec } from './examples.ts'

/**
 * The client headers that are forwarded to backends, and the path of their field: `spec.passthroughHeaders`, or the
 * older `spec.config.passthroughHeaders` when that is empty.
 */
export function passedHeaders(
  spec: Pick<Spec, 'passthroughHeaders' | 'config'> | undefined,
): readonly [readonly (string | undefined)[], Path<string[]>] {
  const ofSpec = spec?.passthroughHeaders ?? []
  return ofSpec.length > 0
    ? [ofSpec, pathTo(['spec', 'passthroughHeaders'])]
    : [spec?.config?.passthroughHeaders ?? [], pathTo(['spec', 'config', 'passthroughHeaders'])]
}
