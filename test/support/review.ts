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

/** What a test knows of the world; the rest is as by default, or not known. */
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

/** An object of a file with nothing beside it that a command would know: in the namespace `default`, not stored. */
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
