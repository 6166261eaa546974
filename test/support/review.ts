import {
  ALL_DEFAULTS,
  type Completion,
  createJudge,
  type FileObject,
  type Judge,
  type Submission,
} from '../../src/engine/index.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/engine/settings.ts'
import type { ClusterState } from '../../src/state/cluster-state.ts'
import type { Release } from '../../src/release/release.ts'
import type { Resource } from '../../src/rule/resource.ts'
import { API_VERSION, DEFAULT_API_GROUP, kindNamed } from '../../src/kinds/index.ts'

/** An AdmissionReview v1 for an object, as the API server sends it. */
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

/** A resource of one of the seven kinds with this spec. */
export function resourceOf(kind: string, spec: unknown, metadata: object = {}): Record<string, unknown> {
  return {
    apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
    kind,
    metadata: { name: 'example', namespace: 'default', ...metadata },
    spec,
  }
}

/**
 * The submission that `reviewOf` describes, without the AdmissionReview: an object named `example` in the namespace
 * `default`.
 */
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

/** The state and settings with which a test judges; absent ones have their defaults, or are unknown. */
interface Known {
  readonly group?: string
  readonly settings?: Partial<Settings>
  readonly state?: ClusterState | undefined
  readonly release?: Release | undefined
  readonly defaults?: Partial<Completion>
}

export const judgeOf = ({
  group = DEFAULT_API_GROUP,
  settings,
  state,
  release,
  defaults,
}: Known = {}): Judge =>
  createJudge({
    group,
    settings: { ...DEFAULT_SETTINGS, ...settings },
    state: state ?? 'no cluster',
    release: release ?? 'specification',
    defaults: { ...ALL_DEFAULTS, ...defaults },
  })

/** An object of a file in the namespace `default` that is not stored, without further context. */
export function fileOf(object: unknown, more: Partial<FileObject> = {}): FileObject {
  const { kind = '', metadata } = object as Resource & { readonly kind?: string }
  const known = kindNamed.get(kind)
  if (known === undefined) throw new Error(`${kind} is no kind of ours`)
  return {
    kind: known,
    namespace: 'default',
    name: typeof metadata?.name === 'string' ? metadata.name : 'example',
    object,
    stored: 'nothing',
    ignores: [],
    strict: false,
    placeholders: undefined,
    ...more,
  }
}
