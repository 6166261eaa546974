/** The architecture in sentences: rule ← { cel ← release, kinds } ← review ← access ← adapters. */
const ADAPTERS = 'cluster|certificates|server|cli|generate|library'

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'rule-imports-nothing-of-ours',
      comment: 'The words that rules are written in.',
      severity: 'error',
      from: { path: '^src/rule' },
      to: { path: '^src/(?!rule)' },
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
      comment: 'Durations, numbers and regular expressions as in Go; no rule needs the evaluator.',
      severity: 'error',
      from: { path: '^src/cel/evaluate/' },
      to: {
        path: '^(src|node_modules)',
        pathNot: '^src/(cel/|rule/(duration|go-number)\\.ts)|node_modules/@bufbuild/re2/',
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
      name: 'kinds-import-rule-and-kinds',
      severity: 'error',
      from: { path: '^src/kinds' },
      to: { path: '^src/(?!rule|kinds|cel)' },
    },
    {
      name: 'release-imports-rule-and-cel',
      severity: 'error',
      from: { path: '^src/release' },
      to: { path: '^src/(?!release|rule|cel)' },
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
      name: 'review-knows-no-adapter',
      severity: 'error',
      from: { path: '^src/review' },
      to: { path: `^src/(${ADAPTERS}|arming|configuration|access|mistakes)/` },
    },
    {
      name: 'access-knows-no-adapter',
      severity: 'error',
      from: { path: '^src/(access|mistakes)' },
      to: { path: `^src/(${ADAPTERS}|arming|configuration)/` },
    },
    {
      name: 'steps-know-no-adapter',
      severity: 'error',
      from: { path: '^src/steps' },
      to: { path: `^src/(${ADAPTERS}|arming|configuration)/` },
    },
    {
      name: 'access-does-not-know-steps',
      severity: 'error',
      from: { path: '^src/(rule|cel|kinds|release|review|access)/' },
      to: { path: '^src/steps/' },
    },
    {
      name: 'adapters-meet-in-main-only',
      comment: 'And in what describes the flags of the server and the CLI, and the output of the CLI.',
      severity: 'error',
      from: {
        path: `^src/(${ADAPTERS})/`,
        pathNot: '^src/server/|^src/cli/input/live/|^src/generate/(flags-page|report-schema)\\.ts$',
      },
      to: { path: `^src/(${ADAPTERS})/`, pathNot: '^src/$1/' },
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
      name: 'probe-knows-no-adapter',
      severity: 'error',
      from: { path: '^src/probe/' },
      to: { path: `^src/(${ADAPTERS}|arming|configuration|access)/` },
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
