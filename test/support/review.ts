import type { Submission } from '../../src/review/index.ts'
import { API_VERSION, DEFAULT_API_GROUP, kindNamed } from '../../src/kinds/index.ts'

/** An AdmissionReview v1 as the API server sends it, around one object. */
export function reviewOf(object: unknown, request: Record<string, unknown> = {}): Record<string, unknown> {
  const kind = (object as { kind?: string } | null)?.kind ?? 'MCPExternalAuthConfig'
  const resource = kindNamed.get(kind)?.plural ?? 'widgets'
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
      kind: { group: DEFAULT_API_GROUP, version: API_VERSION, kind },
      resource: { group: DEFAULT_API_GROUP, version: API_VERSION, resource },
      operation: 'CREATE',
      name: 'example',
      namespace: 'default',
      userInfo: { username: 'admin', groups: ['system:masters'] },
      options: { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions' },
      dryRun: false,
      object,
      oldObject: null,
      ...request,
    },
  }
}

/** A resource of one of our kinds with the given spec. */
export function resourceOf(kind: string, spec: unknown, metadata: object = {}): Record<string, unknown> {
  return {
    apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
    kind,
    metadata: { name: 'example', namespace: 'default', ...metadata },
    spec,
  }
}

/** What `reviewOf` asks of the engine, without the envelope: of `example` in the namespace `default`. */
export const submissionOf = (
  kind: string,
  object: unknown,
  request: Partial<Submission> = {},
): Submission => ({
  operation: 'CREATE',
  group: DEFAULT_API_GROUP,
  kind,
  namespace: 'default',
  name: 'example',
  subResource: '',
  dryRun: false,
  user: 'admin',
  object,
  oldObject: undefined,
  ...request,
})
