import { kindNamed } from '../../src/kinds/index.ts'
import { minorOf } from '../support/conformance.ts'
import type { World } from '../support/conformance-worlds.ts'
import type { KnownRelease } from '../support/releases.ts'
import type { ApiServer } from './api-server.ts'
import { pathOf } from './cluster.ts'
import { installRelease } from './release-crds.ts'
import { inBatches, type Status } from './rule-examples.ts'

/** By id of an object: the releases whose CRDs refuse the object, according to a real API server. */
export async function crdVerdicts(
  api: ApiServer,
  releases: readonly KnownRelease[],
  all: readonly World[],
): Promise<readonly { readonly id: string; readonly refusedBy: readonly string[] }[]> {
  // Many entries differ only in their other objects, so each distinct object is submitted once.
  const objects = new Map(all.map(({ object }) => [JSON.stringify(object), object]))
  const refusedBy = new Map([...objects.keys()].map((text) => [text, [] as string[]]))
  for (const release of releases) {
    await installRelease(api, release)
    await inBatches([...objects], async ([text, object]) => {
      const path = pathOf(kindNamed.get(object.kind as string) ?? { plural: '' })
      const { status, body } = await api.request<Status>(
        'POST',
        `${path}?dryRun=All&fieldValidation=Strict`,
        object,
      )
      if (![201, 400, 422].includes(status)) throw new Error(`not judged: ${status} ${body.message ?? ''}`)
      if (status !== 201) refusedBy.get(text)?.push(minorOf(release.version))
    })
  }
  return all.map(({ id, object }) => ({ id, refusedBy: refusedBy.get(JSON.stringify(object)) ?? [] }))
}
