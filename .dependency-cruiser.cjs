const { readdirSync } = require('node:fs')

/** What each folder of src/ may import beside itself, and no more than it does: a new folder needs a line. */
const MAY_IMPORT = {
  rule: [],
  cel: ['rule'],
  cedar: ['rule'],
  // The schemas of the kinds come first, then how kinds refer to each other, then the rules of both.
  kinds: ['rule', 'cel', 'relations'],
  relations: ['rule', 'cedar', 'kinds'],
  shape: ['rule', 'kinds'],
  release: ['rule', 'cel'],
  state: ['rule', 'kinds', 'relations', 'shape'],
  documents: ['rule', 'cel', 'kinds', 'relations', 'shape', 'state'],
  engine: ['rule', 'cel', 'kinds', 'relations', 'shape', 'release', 'state', 'documents'],
  access: ['rule', 'cel', 'kinds', 'relations', 'shape', 'state', 'documents', 'engine'],
  steps: ['rule', 'kinds', 'relations', 'release', 'state', 'documents', 'engine', 'access'],
  reports: ['rule', 'kinds'],
  probe: ['rule', 'relations', 'documents', 'engine'],
  library: ['rule', 'kinds', 'release', 'state', 'documents', 'engine'],
  configuration: ['rule', 'kinds', 'release', 'engine'],
  certificates: ['rule'],
  registration: ['rule', 'kinds', 'release'],
  arming: ['rule', 'kinds', 'configuration', 'registration'],
  cluster: ['rule', 'kinds', 'registration'],
  cli: [
    ...['rule', 'cel', 'kinds', 'relations', 'shape', 'release', 'state', 'documents', 'engine'],
    ...['access', 'probe', 'reports', 'steps', 'configuration', 'registration', 'arming', 'cluster'],
  ],
  // The pages show what the commands print, so they share its types and `judgeAlone`.
  pages: ['rule', 'cel', 'kinds', 'release', 'documents', 'engine', 'access', 'cli'],
  server: [
    ...['rule', 'kinds', 'relations', 'shape', 'release', 'state', 'engine', 'configuration', 'certificates'],
    ...['registration', 'arming', 'cluster', 'reports'],
  ],
  // It describes the flags of the commands and of the server, and the output of `check`.
  generate: [
    ...['rule', 'kinds', 'shape', 'release', 'engine', 'configuration', 'registration', 'arming'],
    'reports',
    ...[
      'pages/releases.ts',
      'cli/commands.ts',
      'cli/output/help.ts',
      'cli/output/schemas.ts',
      'server/configuration.ts',
    ],
  ],
}

/** The folders of which others import the index alone. The rules are listed where those of all kinds are. */
const DOORS = {
  ...{
    rule: '',
    cel: '',
    cedar: '',
    shape: '',
    release: '',
    state: '',
    documents: '',
    engine: '',
    registration: '',
    reports: '',
  },
  relations: '|rules/',
}

const unnamed = readdirSync(`${__dirname}/src`).filter((folder) => !(folder in MAY_IMPORT))
if (unnamed.length > 0)
  throw new Error(`.dependency-cruiser.cjs does not say what src/${unnamed[0]} may import`)

const layers = Object.entries(MAY_IMPORT).map(([folder, others]) => ({
  name: `${folder}-imports`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^src/', pathNot: `^src/(${[folder, ...others].join('|')})(/|$)` },
}))

const doors = Object.entries(DOORS).map(([folder, more]) => ({
  name: `${folder}-has-one-door`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/${folder}/` },
  to: { path: `^src/${folder}/`, pathNot: `^src/${folder}/(index\\.ts$${more})` },
}))

module.exports = {
  forbidden: [
    ...layers,
    ...doors,
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'cel-front-end-evaluates-nothing',
      severity: 'error',
      from: { path: '^src/cel/', pathNot: '^src/cel/(index\\.ts$|evaluate/|reason/)' },
      to: { path: '^src/cel/(evaluate|reason)/' },
    },
    {
      name: 'cel-needs-one-library',
      severity: 'error',
      from: { path: '^src/cel/' },
      to: { path: 'node_modules', pathNot: 'node_modules/@bufbuild/re2/' },
    },
    {
      name: 'cel-through-matcher-verdicts',
      severity: 'error',
      from: {
        path: '^src/kinds/',
        pathNot: '/(matcher-verdicts|callers|claim-shapes|generations|proofs)\\.ts$',
      },
      to: { path: '^src/cel' },
    },
    {
      name: 'engine-is-pure',
      comment: 'The engine runs in a browser as well: no Node module, no adapter.',
      severity: 'error',
      from: {
        path: '^src/(cel|cedar|rule|kinds|relations|shape|release|state|documents|engine|access|steps|library|pages)/',
      },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'pages-are-for-browsers',
      comment: 'They are bundled; what packs their data is the one part that others use.',
      severity: 'error',
      from: { path: '^src/(?!pages/)' },
      to: { path: '^src/pages/(?!releases\\.ts)' },
    },
    {
      name: 'cli-reads-clusters-in-one-place',
      comment:
        'input/live is the one part of the CLI that talks to a cluster, and is loaded only when one is asked for.',
      severity: 'error',
      from: { path: '^src/cli/', pathNot: '^src/cli/input/live/' },
      to: { path: '^src/cluster/' },
    },
    {
      name: 'clusters-cost-nothing-unasked',
      comment: 'The client library takes 90 MB: a plain check must not load it.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/input/live/' },
      to: {
        path: '^src/cli/input/live/|node_modules/@kubernetes/client-node/',
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'one-home-for-each-library',
      severity: 'error',
      from: { pathNot: '^src/server' },
      to: { path: 'node_modules/(fastify|pino|prom-client)/' },
    },
    {
      name: 'one-home-for-the-kubernetes-client',
      severity: 'error',
      from: { pathNot: '^src/cluster' },
      to: { path: 'node_modules/@kubernetes/client-node/' },
    },
    {
      name: 'probe-for-its-command-alone',
      comment:
        'The webhook asks nobody: only the command may reach what sends requests to hosts that resources name.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(probe/|cli/commands/probe(/|\\.ts$))' },
      to: { path: '^src/probe/' },
    },
    {
      name: 'probe-loaded-when-asked-for',
      severity: 'error',
      from: { path: '^src/cli/commands/probe\\.ts$' },
      to: { path: '^src/probe/', dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'one-home-for-the-mcp-sdk',
      severity: 'error',
      from: { pathNot: '^src/cli/mcp/' },
      to: { path: 'node_modules/@modelcontextprotocol/' },
    },
    {
      name: 'mcp-loaded-when-asked-for',
      comment: 'Of what serves agents its command alone loads anything but the flags.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/mcp/' },
      to: { path: '^src/cli/mcp/(?!flags\\.ts)', dynamic: false },
    },
    {
      name: 'no-test-in-source',
      severity: 'error',
      from: { path: '^src' },
      to: { path: '^(test|bench|tools)' },
    },
    { name: 'not-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
