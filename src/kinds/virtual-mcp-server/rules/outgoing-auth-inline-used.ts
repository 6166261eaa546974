import {
  advice,
  type Cluster,
  defineRule,
  dependingAsError,
  end,
  type FieldError,
  isAbsent,
  nameText,
  type Path,
  relatedTo,
  says,
} from '../../../rule/index.ts'
import {
  authConfigNamed,
  BACKEND_KINDS,
  fallsBack,
  type Gateway,
  getWorkload,
  listedIn,
  ownConfigOf,
  WORKLOAD,
} from '../../../relations/index.ts'
import { outgoing } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const outgoingAuthInlineUsed = defineRule({
  id: 'outgoing-auth-inline-used',
  on: VirtualMCPServer,
  needs: ['outgoingAuth'],
  reads: BACKEND_KINDS,
  severity: 'warning',
  summary: '`backends` and `default` are set with the source `inline` only.',
  why: 'With `discovered`, the source when none is given, each backend brings its own strategy. Up to release 0.46 vMCP reads these at its start and drops them a second later, so that the backend is contacted without credentials; later releases use them for a backend without a reference of its own.',
  failure: {
    symptom: 'the backend works for a second after the start of vMCP, then every call is answered with 401',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    releases: 'up to 0.46',
    threads: ['stacklok/toolhive#6454', 'stacklok/toolhive#6513', 'stacklok/toolhive#6329'],
  },
  sources: [
    says('2.2', 'backends is used with source inline.'),
    says('5.2', 'inline: strategies come from the map outgoingAuth.backends; discovered: it is not read.'),
    'decision 10',
  ],
  *check(gateway, { path, cluster }) {
    const outgoingAuth = gateway.spec?.outgoingAuth
    if (!outgoingAuth) return
    if (!isAbsent(outgoingAuth, 'source') && outgoingAuth.source !== 'discovered') return
    if (fallsBack(cluster)) {
      yield* overruled(gateway, path, cluster)
      return
    }
    const counts =
      cluster.release === undefined
        ? ' (up to release 0.46), or counts only for backends without a reference'
        : ''
    for (const field of ['backends', 'default'] as const) {
      if (isAbsent(outgoingAuth, field)) continue
      yield advice(
        path.spec.outgoingAuth[field],
        `with source 'discovered' it is dropped after the start${counts}; set \`source\` to 'inline' or remove it`,
      )
    }
  },
  examples: {
    'inline strategies': {
      value: outgoing({
        source: 'inline',
        backends: { jira: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'jira' } } },
      }),
    },
    'each backend brings its own': { value: outgoing({ source: 'discovered' }) },
    'strategies without a source': {
      value: outgoing({
        backends: { jira: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'jira' } } },
      }),
      findings:
        "spec.outgoingAuth.backends: with source 'discovered' it is dropped after the start (up to release 0.46), or counts only for backends without a reference; set `source` to 'inline' or remove it",
    },
    'a default that is not read': {
      value: outgoing({ source: 'discovered', default: { externalAuthConfigRef: { name: 'jira' } } }),
      findings:
        "spec.outgoingAuth.default: with source 'discovered' it is dropped after the start (up to release 0.46), or counts only for backends without a reference; set `source` to 'inline' or remove it",
    },
  },
})

/** The entries of `backends` for a backend that refers to another MCPExternalAuthConfig itself. */
function* overruled(gateway: Gateway, path: Path<Gateway>, cluster: Cluster): Iterable<FieldError> {
  for (const { key, members } of listedIn(gateway, cluster)) {
    const listed = gateway.spec?.outgoingAuth?.backends?.[key]?.externalAuthConfigRef?.name
    if (listed === undefined) continue
    for (const member of members) {
      const { config } = ownConfigOf(getWorkload(cluster, member) ?? {})
      if (config === undefined || config === listed) continue
      const own = `with source 'discovered' ${nameText(authConfigNamed(config))} of the backend itself goes before it`
      const finding = advice(
        path.spec.outgoingAuth.backends.at(key),
        `${own}; remove the entry, or the reference of the backend`,
      )
      yield relatedTo(dependingAsError(finding, member), [
        end(member, WORKLOAD.spec.externalAuthConfigRef, 'goes before the entry'),
      ])
    }
  }
}
