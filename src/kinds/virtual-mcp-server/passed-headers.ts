import { type Path, pathTo } from '../../rule/index.ts'
import type { Spec } from './examples.ts'

/**
 * The client headers that are forwarded to backends, and the path of their field: `spec.passthroughHeaders` or, when
 * this list is empty, the older `spec.config.passthroughHeaders`.
 */
export function passedHeaders(
  spec: Pick<Spec, 'passthroughHeaders' | 'config'> | undefined,
): readonly [readonly (string | undefined)[], Path<string[]>] {
  const ofSpec = spec?.passthroughHeaders ?? []
  return ofSpec.length > 0
    ? [ofSpec, pathTo(['spec', 'passthroughHeaders'])]
    : [spec?.config?.passthroughHeaders ?? [], pathTo(['spec', 'config', 'passthroughHeaders'])]
}
