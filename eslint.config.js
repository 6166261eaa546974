import redos from 'eslint-plugin-redos'
import tseslint from 'typescript-eslint'

export default tseslint.config(
  {
    ignores: [
      'src/shape/generated/validators.js',
      'src/release/generated/',
      'dist/',
      '.tap/',
      'test/golden/',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ['*.js', '*.cjs'] } } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      // A generator method on a rule literal is called on its own and never uses `this`.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/only-throw-error': ['error', { allow: [{ from: 'file', name: 'SyntaxProblem' }] }],
      // Code points are what texts are counted and cut by here.
      '@typescript-eslint/no-misused-spread': 'off',
      // Plain loops where a review spends its time.
      '@typescript-eslint/prefer-for-of': 'off',
      'no-control-regex': 'off',
      'no-console': 'error',
      'no-restricted-syntax': ['error', 'ExportDefaultDeclaration', 'TSEnumDeclaration'],
    },
  },
  {
    // Proves of every pattern that no text takes more than linear time; what it cannot read is an error too.
    files: ['src/**', 'tools/**'],
    plugins: { redos },
    rules: {
      'redos/no-vulnerable': [
        'error',
        { checker: 'automaton', ignoreErrors: false, timeout: 30_000, cache: true },
      ],
      'no-restricted-syntax': [
        'error',
        'ExportDefaultDeclaration',
        'TSEnumDeclaration',
        {
          selector: "[callee.name='RegExp']",
          message: 'Write a literal, which the linter proves, or use RE2.',
        },
      ],
    },
  },
  {
    // The engine runs in a browser as well; .dependency-cruiser.cjs forbids the modules of Node.
    files: ['src/{rule,cel,kinds,release,review,access}/**'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['Buffer', 'process', 'global', 'setImmediate', 'clearImmediate', 'require', '__dirname'],
      ],
    },
  },
  {
    files: ['test/**', 'bench/**'],
    rules: {
      // tap's subtests and fast-check's properties answer with promises that the runner waits for.
      '@typescript-eslint/no-floating-promises': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['*.js', '*.cjs'],
    ...tseslint.configs.disableTypeChecked,
    rules: { 'no-restricted-syntax': 'off' },
  },
)
