import { code, idLink, linkedSources, page, table } from '../../src/generate/markdown.ts'
import { type Differences, differences, NEWEST, releasesLike } from './conformance.ts'

export const PAGE = new URL('../../contributing/conformance.md', import.meta.url)

/** The path from contributing/ to the pages for users. */
const DOCS = '../docs/'

const NOT_COMPARED =
  'Section 5.2 excludes it; the operator does not compare providers where a backend brings the configuration.'

/** By rule: why the product denies what the newest release accepts and its operator reconciles. */
const DENIED: Readonly<Record<string, string>> = {
  'hmac-secret-long-enough': 'The server refuses the Secret when it starts; the recording has no Secrets.',
  'redis-acl-username-configured':
    'Section 2.4.3 requires the user name; releases take a password alone (decision 3).',
  'role-mapping-matcher-compiles':
    'The operator does not look at matchers: the gateway compiles them when it starts.',
  'role-mapping-matchers-fit': 'Nobody can compile so many in the time of an admission review (decision 15).',
  'schema-enum': 'Types of releases, `obo` and `xaa` (decision 3).',
  'schema-minItems':
    'Releases take a server without providers where it has a grant without a login (decision 3).',
  'schema-minLength':
    'An empty name or URL that the specification requires (decision 17); releases use it as it is.',
  'sentinel-addresses-or-service':
    'Section 2.4.3 excludes both; releases take the addresses and ignore the Service.',
  'subject-provider-exists': NOT_COMPARED,
  'upstream-inject-has-auth-server': NOT_COMPARED,
  'upstream-inject-provider-exists': NOT_COMPARED,
  'upstream-oauth2-user-info-configured':
    'Section 2.4.3 requires `userInfo`; releases make up an identity for each login without it (decision 3).',
  'upstream-provider-single-for-workloads':
    'The operator refuses the workload and leaves the configuration valid; we tell it at both.',
}

/** Why the product has no finding for some refusals of the operator. */
const SILENT: readonly (readonly [refusal: RegExp, why: string])[] = [
  [
    /CABundle|caBundleRef|CA bundle|authorization ConfigMap|MCPAuthzConfig/,
    'No ConfigMap and no MCPAuthzConfig is given: what is not in the files may be in the cluster.',
  ],
  [/static mode requires/, 'The pods of backends do not run in memory.'],
  [
    /remote URL host is not allowed|image is required/,
    'The address and the image of a backend are not authentication.',
  ],
  [
    /baseline_client_scopes|delegate_clients|trusted_issuers.*jwt_bearer_grant/,
    'In an MCPExternalAuthConfig: scopes and `resourceUrl` are those of the workload that refers to it. In a VirtualMCPServer it is told.',
  ],
]

/** By field: why a CRD requires more than the product does while no release is known. */
const OF_RELEASES: readonly (readonly [field: RegExp, why: string])[] = [
  [
    /oidcConfigRef\.(?:audience|name)$/,
    'The specification has the audience beside the reference (decision 4).',
  ],
  [
    /^MCP(?:Server|RemoteProxy|ServerEntry) spec/,
    'The specification leaves the fields of a workload open (section 1).',
  ],
  [
    /spec\.outgoingAuth\.default/,
    'The specification gives `default` a reference and no `type` (section 2.2).',
  ],
  [
    /spec\.(?:groupRef|incomingAuth)$/,
    'A warning of ours, so that files can be judged one by one; the CRD decides.',
  ],
  [/(?:signingKeySecretRefs|additionalAuthorizationParams)$/, 'The specification has no such bound.'],
  [
    /^a field/,
    'The API server drops it unless asked to be strict, as kubectl asks; `unknown-field` is of files alone.',
  ],
  [
    /embedded server|^VirtualMCPServer spec$|caBundleRef$/,
    'Fields and rules of releases, which the specification does not have.',
  ],
]

const explained = (rows: readonly (readonly [RegExp, string])[], text: string) =>
  rows.find(([pattern]) => pattern.test(text))?.[1]

/** The differences that have no explanation; the page needs one for each. */
export function unexplained({ denied, refused, missed, operator }: Differences): readonly string[] {
  return [
    ...missed.map((title) => `the CRD refuses it, and we do not although the release is known: ${title}`),
    ...denied.filter(({ what }) => DENIED[what] === undefined).map(({ what }) => `we deny: ${what}`),
    ...refused
      .filter(({ what }) => explained(OF_RELEASES, what) === undefined)
      .map(({ what }) => `the CRD refuses: ${what}`),
    ...operator
      .filter(({ what, silent }) => silent.length > 0 && explained(SILENT, what) === undefined)
      .map(({ what, silent }) => `the operator refuses: ${what}: ${silent[0] ?? ''}`),
  ]
}

/** The explanations that no longer belong to any difference. */
export function unusedExplanations({ denied, refused, operator } = differences()): readonly string[] {
  const silent = operator.filter((each) => each.silent.length > 0)
  const unused = (rows: readonly (readonly [RegExp, string])[], all: readonly { readonly what: string }[]) =>
    rows
      .filter(([pattern]) => !all.some(({ what }) => pattern.test(what)))
      .map(([pattern]) => String(pattern))
  return [
    ...Object.keys(DENIED).filter((id) => !denied.some(({ what }) => what === id)),
    ...unused(OF_RELEASES, refused),
    ...unused(SILENT, silent),
  ]
}

export function conformancePage(found = differences()): string {
  return page([
    '<!-- GENERATED by npm run conformance; do not edit. -->',
    '# Conformance with the releases of the operator',
    `One corpus is judged three times: by the CRDs of every known release at a real API server (a row stands for releases with the same CRDs), by the operator of release ${NEWEST} (its own controllers and the start of its authorization server, over a cluster in memory), and by us, with the release known and without. The corpus is every example of every rule, objects at each bound of each field, and values that releases refuse late. The first two verdicts are recorded in \`test/golden/conformance\`; a test repeats ours. [The recipe](tests.md#record-the-verdicts-of-the-operator) says how to record.`,
    countsTable(found),
    ...differencesParts(found),
  ])
}

/** The parts of the page that do not depend on the number of objects. */
export const differencesParts = (found: Differences): readonly string[] => [
  '## What the release takes and we deny',
  `Our errors in objects that the CRD of release ${NEWEST} takes and its operator reconciles. The specification decides ([decision 3](../docs/decisions.md#decision-3)).`,
  table(
    ['Rule', 'With the release known', 'Why'],
    found.denied.map(({ what, known }) => [
      idLink(what, DOCS),
      known === 0 ? 'a warning or nothing' : 'still an error',
      linkedSources(DENIED[what] ?? '', DOCS),
    ]),
  ),
  '## What the CRD refuses and we do not',
  'With the release known: nothing. Each of its refusals is an error of `check`, and at the webhook the API server has refused the object before. Without a release, these fields:',
  table(
    ['Why', 'Fields'],
    grouped(found.refused.map(({ what }) => [explained(OF_RELEASES, what) ?? '', what])).map(
      ([why, fields]) => [linkedSources(why, DOCS), fields.map(code).join(', ')],
    ),
  ),
  '## What the operator refuses and we do not tell',
  `Objects that the CRD of release ${NEWEST} takes, that the operator refuses at reconcile or that stop the start, and in which we find nothing.`,
  table(
    ['The operator says', 'Why we do not'],
    found.operator
      .filter(({ silent }) => silent.length > 0)
      .map(({ what }) => [code(what), linkedSources(explained(SILENT, what) ?? '', DOCS)]),
  ),
  '## What the recording does not cover',
  'The network (discovery, keys, registration), Secrets and ConfigMaps that are mounted, Redis, Cedar policies of a VirtualMCPServer, and what happens at a request. There is no published module of release 0.49 and of 0.51 to 0.54.',
]

const countsTable = ({ counts }: Differences): string =>
  table(
    [
      'Release',
      'Objects',
      'Its CRD takes',
      'of these we deny: known, unknown',
      'Its CRD refuses',
      'of these we deny: known, unknown',
    ],
    counts.map(({ release, worlds, taken, deniedKnown, deniedUnknown, silentKnown, silentUnknown }) => [
      releasesLike(release),
      String(worlds),
      String(taken),
      `${deniedKnown}, ${deniedUnknown}`,
      String(worlds - taken),
      `${worlds - taken - silentKnown}, ${worlds - taken - silentUnknown}`,
    ]),
  )

function grouped(pairs: readonly (readonly [string, string])[]): [string, string[]][] {
  const groups = new Map<string, string[]>()
  for (const [key, value] of pairs) groups.set(key, [...(groups.get(key) ?? []), value])
  return [...groups]
}
