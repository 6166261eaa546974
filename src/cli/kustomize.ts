import { dirname, join, normalize } from 'node:path'
import { isObject } from '../rule/resource.ts'
import type { Documents, FileDocument } from './documents.ts'
import type { Located } from './report.ts'

/** Takes out the files that a kustomization among the documents uses as patches: they hold parts of resources only. */
export function withoutPatches(documents: readonly FileDocument[]): Pick<Documents, 'documents' | 'patches'> {
  const users = new Map(
    documents.flatMap(({ file, document }) =>
      patchesOf(document.value).map((path) => [normalize(join(dirname(file), path)), file] as const),
    ),
  )
  const userOf = ({ file }: FileDocument) => users.get(normalize(file))
  return {
    documents: documents.filter((each) => userOf(each) === undefined),
    patches: documents.flatMap((each) => {
      const user = userOf(each)
      return user === undefined ? [] : [told(each, user)]
    }),
  }
}

/** The paths of the patches, as a kustomization writes them. */
function patchesOf(value: unknown): string[] {
  if (!isObject(value) || (value.kind !== 'Kustomization' && value.kind !== 'Component')) return []
  const { patches, patchesStrategicMerge, patchesJson6902 } = value
  return [patches, patchesStrategicMerge, patchesJson6902].flatMap((list) =>
    Array.isArray(list) ? list.map(pathOf).filter((path) => path !== undefined) : [],
  )
}

const pathOf = (patch: unknown): string | undefined => {
  const path = isObject(patch) ? patch.path : patch
  return typeof path === 'string' ? path : undefined
}

function told({ file, document }: FileDocument, user: string): Located {
  const built = `kubectl kustomize ${dirname(user)} | vmcp-admission check -`
  const message = `not judged, because ${user} uses it as a patch; to judge what comes of it: ${built}`
  return { file, ...document.locate([], 'value'), message }
}
