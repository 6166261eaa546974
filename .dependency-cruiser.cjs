const { readdirSync } = require('node:fs')

/** What each folder of src/ may import beside itself, and no more than it does: a new folder needs a line. */
const MAY_IMPORT = {
  rule: [],
  cel: ['rule'],
  kinds: ['rule', 'cel'],
  release: ['rule', 'cel'],
  review: ['rule', 'cel', 'kinds', 'release'],
  access: ['rule', 'cel', 'kinds', 'review'],
  mistakes: ['rule', 'kinds', 'release', 'review'],
  probe: ['rule', 'kinds', 'review'],
  steps: ['rule', 'kinds', 'release', 'review', 'access'],
  library: ['rule', 'kinds', 'release', 'review'],
  configuration: ['rule', 'kinds', 'review'],
  certificates: ['rule'],
  registration: ['rule', 'kinds', 'release'],
  arming: ['rule', 'kinds', 'configuration'],
  // Of arming only the names of the webhook configurations.
  cluster: ['rule', 'kinds', 'arming/webhook-configurations.ts'],
  cli: [
    ...['rule', 'cel', 'kinds', 'release', 'review', 'access', 'mistakes', 'probe', 'steps'],
    ...['configuration', 'arming', 'cluster'],
  ],
  // The pages show what the commands print, so they share its types and `judgeAlone`.
  pages: ['rule', 'cel', 'kinds', 'release', 'review', 'access', 'mistakes', 'cli'],
  server: [
    ...['rule', 'kinds', 'release', 'review', 'configuration', 'certificates', 'arming', 'cluster'],
    'registration',
  ],
  // It describes the flags of the commands and of the server, and the output of `check`.
  generate: [
    ...['rule', 'kinds', 'release', 'review', 'configuration', 'arming'],
    ...['pages/releases.ts', 'cli/commands.ts', 'cli/output/report-schema.ts', 'server/configuration.ts'],
  ],
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

module.exports = {
  forbidden: [
    ...layers,
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'cel-stands-alone',
      comment: 'The CEL front end imports nothing but the search for near names.',
      severity: 'error',
      from: { path: '^src/cel', pathNot: '^src/cel/(evaluate|reason)/' },
      to: { path: '^(src|node_modules)', pathNot: '^src/(cel/(?!evaluate/|reason/)|rule/nearest\\.ts)' },
    },
    {
      name: 'cel-evaluator-needs-little',
      comment:
        'Durations, numbers and regular expressions as in Go, and the budget that all of it spends from.',
      severity: 'error',
      from: { path: '^src/cel/evaluate/' },
      to: {
        path: '^(src|node_modules)',
        pathNot:
          '^src/(cel/|rule/(bounded-cache|budget|duration|go-number)\\.ts)|node_modules/@bufbuild/re2/',
      },
    },
    {
      name: 'cel-evaluator-for-the-role',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(cel/(evaluate|reason)|access/(role|difference)|cli/commands/role|pages|release)/',
      },
      to: { path: '^src/cel/evaluate/' },
    },
    {
      name: 'cel-through-matcher-verdicts',
      severity: 'error',
      from: { path: '^src/kinds/', pathNot: '/(matcher-verdicts|claim-shapes|generations|proofs)\\.ts$' },
      to: { path: '^src/cel' },
    },
    {
      name: 'review-is-pure',
      comment: 'The engine runs in a browser as well: no Node module, no adapter.',
      severity: 'error',
      from: { path: '^src/(cel|rule|kinds|release|review|access|steps|mistakes|library|pages)/' },
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
    { name: 'no-test-in-source', severity: 'error', from: { path: '^src' }, to: { path: '^(test|bench)' } },
    { name: 'not-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
