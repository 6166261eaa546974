import type { Documents } from '../../input/texts.ts'
import type { FileDocument } from '../../input/load.ts'
import type { LiveCluster } from '../../input/live/index.ts'
import type { NamedResource } from '../../../probe/index.ts'
import {
  kindOf,
  namespaceOf,
  placeholdersIn,
  type DocumentReading,
  subjectOf,
} from '../../../documents/index.ts'
import { type Ignore, ignoresIn } from '../../../engine/index.ts'
import { ANYTHING, shape } from '../../../shape/index.ts'
import { isObject, jsonKey, metadataOf, objectKey, type Segment } from '../../../rule/index.ts'
import { NO_PLACES, type Places } from '../../output/report.ts'
import { commentsOf, targetIn } from '../judge-document.ts'

/** A resource that may contain addresses, its file, the places of its fields, and the findings that it ignores. */
export interface ProbeSource extends NamedResource {
  readonly value: unknown
  readonly file: string | null
  readonly places: Places
  readonly ignores: readonly Ignore[]
}

/** The resources in files, without values that contain a placeholder. */
export function sourcesIn({ documents }: Documents, reading: DocumentReading): ProbeSource[] {
  return documents.flatMap(({ file, document }) => {
    const { value } = document
    const kind = kindOf(value, reading)
    if (kind === undefined || !isObject(value)) return []
    const places = placeholdersIn(kind, value, reading.placeholders).map(({ at }) => at)
    const { resource } = shape(kind, value, ANYTHING, places)
    if (resource === undefined) return []
    const ignores = [
      ...commentsOf(document).flatMap(({ ignore }) => ignore ?? []),
      ...ignoresIn(value, reading.group).ignores,
    ]
    const subject = subjectOf(kind.kind, value, reading)
    return [{ subject, resource, value, file, ignores, places: placesIn({ file, document }) }]
  })
}

function placesIn({ file, document }: FileDocument): Places {
  const part = (at: readonly Segment[], target: 'key' | 'value') => ({
    file,
    ...document.locate(at.map(jsonKey), target),
  })
  return {
    ...NO_PLACES,
    part,
    of: ({ error }) => part(error.at, targetIn(document.value, error.at)),
  }
}

/** The resources of a cluster. */
export function sourcesOf({ objects }: LiveCluster, group: string): ProbeSource[] {
  return objects.flatMap(({ kind, namespace, name, value }) => {
    const { resource } = shape(kind, value)
    if (resource === undefined) return []
    const { ignores } = ignoresIn(value, group)
    const subject = { kind: kind.kind, namespace, name }
    return [{ subject, resource, value, file: null, ignores, places: NO_PLACES }]
  })
}

/** The text at a key of a ConfigMap; undefined when it is not known. */
export type ConfigMapTexts = (namespace: string, name: string, key: string) => string | undefined

/** The texts of the ConfigMaps among these objects. */
export function configMapTexts(objects: readonly unknown[], reading: DocumentReading): ConfigMapTexts {
  const held = new Map<string, Record<string, unknown>>()
  for (const object of objects) {
    const { name } = metadataOf(object)
    const namespace = namespaceOf(object, reading)
    if (!isObject(object) || (object.kind ?? 'ConfigMap') !== 'ConfigMap' || !isObject(object.data)) continue
    if (typeof name === 'string') held.set(objectKey({ kind: 'ConfigMap', namespace, name }), object.data)
  }
  return (namespace, name, key) => {
    const text = held.get(objectKey({ kind: 'ConfigMap', namespace, name }))?.[key]
    return typeof text === 'string' ? text : undefined
  }
}
