import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseAllDocuments, parse } from 'yaml'
import { completed } from '../src/cli/commands/init.ts'
import { BACKENDS, problemWith, PROVIDERS } from '../src/cli/commands/init/templates.ts'
import { knownReleases } from '../src/configuration/known-releases.ts'
import { kindNamed } from '../src/kinds/index.ts'
import { ANYTHING, compared, refusals, type ReleaseSchema } from '../src/release/index.ts'
import { runCli } from './support/cli.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-init-'))
t.teardown(() => rmSync(folder, { recursive: true }))

interface Crd {
  readonly spec: {
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: ReleaseSchema } }[]
  }
}

/** The schema of a kind in deploy/crds-strict. */
function strictSchema(kind: string): ReleaseSchema {
  const file = `${ROOT}deploy/crds-strict/${kindNamed.get(kind)?.plural}.yaml`
  const [version] = (parse(readFileSync(file, 'utf8')) as Crd).spec.versions
  if (version === undefined) throw new Error(`${file} has no version`)
  const schema = compared(version.schema.openAPIV3Schema)
  return { ...schema, properties: { ...schema.properties, metadata: ANYTHING } }
}

const LISTS = [...BACKENDS, BACKENDS.join(',')]
const COMBINATIONS = PROVIDERS.flatMap((provider) => LISTS.map((backends) => ({ provider, backends })))

t.test('what it writes for any provider, backend and release has no finding and fits the CRDs', async (t) => {
  const releases = [undefined, knownReleases()[0], knownReleases().at(-1)]
  let written = 0
  for (const { provider, backends } of COMBINATIONS) {
    if (problemWith({ provider, backends: LISTS.filter((each) => backends.includes(each)) as never }))
      continue
    for (const release of releases) {
      const title = `${provider}, ${backends}, ${release}`
      const named = release === undefined ? [] : ['--release', release]
      const made = await runCli(['init', '--provider', provider, '--backends', backends, ...named], {
        cwd: folder,
      })
      t.strictSame([made.status, made.stderr], [0, ''], title)
      const check = ['check', '--strict', '--advice', '--profile', 'strict', ...named, '-']
      const judged = await runCli(check, { cwd: folder, input: made.stdout })
      const count = 3 + 2 * backends.split(',').length
      t.equal(
        judged.stdout,
        `${count} resources in 1 file: 0 errors, 0 warnings; judged by ${release === undefined ? 'the specification (no --release)' : `operator release ${release}`}\n`,
        title,
      )
      t.match(made.stdout, `For release ${release ?? knownReleases().at(-1)} of the operator.`)
      for (const document of parseAllDocuments(made.stdout)) {
        const object = document.toJS() as { kind: string }
        t.strictSame([...refusals(strictSchema(object.kind), object)], [], `${title}: ${object.kind}`)
        written += 1
      }
    }
  }
  t.ok(written > 200, `${written} objects`)
})

t.test('names, URL and API group are as they are given', async (t) => {
  const flags = [
    '--gateway',
    'sales',
    '--group',
    'crm',
    '--url',
    'https://sales.acme.test',
    '--api-group',
    'mcp.acme.test',
  ]
  const { stdout } = await runCli(['init', ...flags], { cwd: folder })
  const objects = parseAllDocuments(stdout).map((document) => document.toJS() as Record<string, unknown>)
  t.match(objects, [
    { apiVersion: 'mcp.acme.test/v1beta1', kind: 'MCPGroup', metadata: { name: 'crm' } },
    { metadata: { name: 'sales-tokens' }, spec: { inline: { issuer: 'https://sales.acme.test' } } },
    { metadata: { name: 'sales' }, spec: { groupRef: { name: 'crm' } } },
    { metadata: { name: 'sales-header' } },
    { metadata: { name: 'sales-header' }, spec: { groupRef: { name: 'crm' } } },
  ])
  const { stdout: judged } = await runCli(['check', '--api-group', 'mcp.acme.test', '-'], {
    cwd: folder,
    input: stdout,
  })
  t.match(judged, /^5 resources in 1 file: 0 errors, 0 warnings;/)
})

t.test('names that YAML takes for numbers and booleans are texts', async (t) => {
  for (const [gateway, group] of [
    ['2024', 'true'],
    ['on', '1e3'],
    ['0x1f', 'null'],
  ] as const) {
    const { stdout } = await runCli(['init', '--gateway', gateway, '--group', group], { cwd: folder })
    const [mcpGroup, , server, , entry] = parseAllDocuments(stdout).map(
      (document) => document.toJS() as Record<string, unknown>,
    )
    t.match(mcpGroup, { metadata: { name: group } })
    t.match(server, { metadata: { name: gateway }, spec: { groupRef: { name: group } } })
    t.match(entry, { metadata: { name: `${gateway}-header` }, spec: { groupRef: { name: group } } })
    const { stdout: judged } = await runCli(['check', '-'], { cwd: folder, input: stdout })
    t.match(judged, /^5 resources in 1 file: 0 errors, 0 warnings;/, `${gateway} ${group}`)
  }
})

t.test('wrong settings are told with what to choose, and nothing is printed', async (t) => {
  const rows: [string[], RegExp][] = [
    [
      ['--provider', 'google'],
      /^vmcp-admission: --provider: 'google' is not one of okta, entra, github, keycloak\n/,
    ],
    [
      ['--backends', 'header,bearer'],
      /^vmcp-admission: --backends: 'bearer' is not one of exchange, header, aws, inject\n/,
    ],
    [
      ['--provider', 'github', '--backends', 'header,aws'],
      /^vmcp-admission: the access tokens of GitHub are no JWTs.*: choose okta, entra or keycloak with aws, or exchange, header or inject with github\n/,
    ],
    [['--release', '0.1'], /^vmcp-admission: '0\.1' is not a release that is known: they are 0\.26 to /],
    [['--gateway', 'My gateway'], /^vmcp-admission: --gateway: 'My gateway' is not a name of at most 50 /],
    [['--gateway', 'a'.repeat(51)], /is not a name of at most 50 /],
    [
      ['--url', 'https://mcp.example.com/'],
      /^vmcp-admission: --url: .* is not an https URL without a path, such as/,
    ],
    [['--url', 'http://mcp.example.com'], /is not an https URL/],
    [
      ['--gateway', 'vmcp-admission', '--write', 'taken'],
      /^vmcp-admission: --write writes the gateway into vmcp-admission\.yaml, which is the configuration file: name it/,
    ],
    [['gateway.yaml'], /^vmcp-admission: init takes no files; --write names a folder\n/],
  ]
  for (const [args, said] of rows) {
    const { status, stdout, stderr } = await runCli(['init', ...args], { cwd: folder })
    t.strictSame([status, stdout], [2, ''], args.join(' '))
    t.match(stderr, said)
  }
  t.notOk(existsSync(join(folder, 'taken')))
})

t.test('it writes files that check finds clean by their release, and overwrites none', async (t) => {
  const args = ['init', '--release', '0.40', '--backends', 'exchange,aws', '--write', 'a/deploy']
  const made = await runCli(args, { cwd: folder })
  const files = ['vmcp-admission.yaml', 'gateway.yaml', 'gateway-backends.yaml'].map((name) =>
    join('a/deploy', name),
  )
  t.strictSame([made.status, made.stdout], [0, `${files.join('\n')}\n`])
  const { stdout } = await runCli(['check', '--strict', 'a/deploy'], { cwd: folder })
  t.equal(stdout, '7 resources in 2 files: 0 errors, 0 warnings; judged by operator release 0.40\n')

  const before = files.map((file) => readFileSync(join(folder, file), 'utf8'))
  rmSync(join(folder, files[1] ?? ''))
  const again = await runCli([...args, '--provider', 'entra'], { cwd: folder })
  t.equal(again.status, 2)
  t.match(
    again.stderr,
    /^vmcp-admission: a.deploy.vmcp-admission\.yaml exists, and init overwrites nothing: name another folder\n/,
  )
  t.strictSame(readdirSync(join(folder, 'a/deploy')).length, 2, 'nor writes the others')
  t.equal(readFileSync(join(folder, files[0] ?? ''), 'utf8'), before[0])

  writeFileSync(join(folder, 'file'), '')
  const onFile = await runCli(['init', '--write', 'file'], { cwd: folder })
  t.equal(onFile.status, 3)
  t.match(onFile.stderr, /^vmcp-admission: cannot write into file: /)
})

t.test('the questions: an empty answer takes what is usual, a wrong one is asked again', async (t) => {
  const asked: string[] = []
  const answering = (answers: (string | undefined)[]) => (question: string) => {
    asked.push(question)
    return Promise.resolve(answers.shift())
  }
  t.strictSame(
    await completed(
      { group: 'crm' },
      answering(['', 'Wrong name', 'sales', '', ' github ', 'header, aws', '']),
    ),
    {
      gateway: 'gateway',
      group: 'crm',
      url: 'https://mcp.example.com',
      provider: 'github',
      backends: ['header', 'aws'],
    },
  )
  t.equal(asked.length, 6)
  await t.rejects(completed({}, answering(['sales', undefined])), {
    message: /^nothing is written: the input ended/,
  })
})

// `script` of util-linux runs a program on a terminal.
const hasScript = String(spawnSync('script', ['--version']).output).includes('util-linux')
const skip = hasScript || process.env.CI === 'true' ? false : 'no script of util-linux'

t.test('on a terminal it asks for what no flag gives', { skip }, async (t) => {
  const command = `${process.execPath} ${join(ROOT, 'src/cli/main.ts')} init --url https://mcp.example.com --write asked`
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { cwd: folder })
  const answers = ['sales', 'crm', 'keycloak', 'header,aws']
  let shown = ''
  for await (const text of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    shown += text
    // Each question ends with its default in brackets.
    while (answers.length > 0 && shown.split(/\]: /).length > 5 - answers.length)
      child.stdin.write(`${answers.shift()}\n`)
  }
  t.match(shown, /asked.sales-backends\.yaml/)
  const { stdout } = await runCli(['plan', 'asked'], { cwd: folder })
  t.match(stdout, /^VirtualMCPServer sales \(namespace default\), MCPGroup crm\n.*\n.*login at keycloak$/m)
  t.match(stdout, /^ +sales-aws .* keycloak → AWS STS +SigV4$/m)
  t.match(stdout, /^ +sales-header .* X-Api-Key$/m)
})
