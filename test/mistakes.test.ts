import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { documentsOf } from '../src/cli/input/texts.ts'
import { newestRelease } from '../src/cli/input/release.ts'
import { DEFAULT_API_GROUP as group } from '../src/kinds/index.ts'
import { judge, type Finding, type Release } from '../src/library/index.ts'
import { measureMistakes } from '../tools/mistakes/command.ts'
import { mistakesIn, sampled } from '../tools/mistakes/all.ts'
import { CLASSES } from '../tools/mistakes/classes.ts'
import { Judges } from '../tools/mistakes/judges.ts'
import { withMistake } from '../tools/mistakes/mistake.ts'
import { coverageOf, type Made } from '../tools/mistakes/run.ts'
import { countsOf } from '../tools/mistakes/summary.ts'
import { linkObjects } from '../tools/mistakes/linked-objects.ts'
import { DEFAULT_SETTINGS } from '../src/engine/settings.ts'
import { runCli } from './support/cli.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const installed = newestRelease()
const judging = {
  group,
  namespace: 'default',
  strict: false,
  settings: DEFAULT_SETTINGS,
  release: installed,
  installed,
}

const given = (texts: Readonly<Record<string, string>>) =>
  documentsOf(new Map(Object.entries(texts))).documents.map(({ file, document }) => ({
    file,
    value: document.value,
  }))

const made = (text: string): readonly Made[] =>
  coverageOf(given({ 'a.yaml': text }), judging, { limit: 0, seed: 1 }).made

const EXAMPLES = given(
  Object.fromEntries(
    readdirSync(`${ROOT}examples`)
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => [name, readFileSync(`${ROOT}examples/${name}`, 'utf8')]),
  ),
)

const GATEWAY = readFileSync(`${ROOT}examples/virtual-mcp-server.yaml`, 'utf8')
const NOBODY = { editor: false, check: false, webhook: 'no', crd: false }

/** A mistake in an example: its path, how the value changes, and which checks report it. */
const ROWS: [of: string, path: string, change: RegExp, caught: object][] = [
  ['key misspelt', 'spec.groupRef', /^groupRef → /, { editor: true, check: true, crd: true }],
  ['missing', 'spec.tokenExchange.audience', /^removed$/, { check: true, webhook: 'denied', crd: true }],
  ['wrong type', 'spec.tokenExchange', /./, { check: true, webhook: 'denied', crd: true }],
  [
    'reference misspelt',
    'spec.incomingAuth.oidcConfigRef.name',
    /^"engineering-tokens" → /,
    { check: true, webhook: 'warned', crd: false },
  ],
  ['other kind', 'spec.groupRef.name', /./, { check: true, webhook: 'warned' }],
  ['Secret misspelt', 'spec.tokenExchange.clientSecretRef.name', /./, { ...NOBODY, webhook: 'warned' }],
  ['Secret key misspelt', 'spec.tokenExchange.clientSecretRef.key', /./, { ...NOBODY, webhook: 'warned' }],
  [
    'other issuer',
    'spec.inline.issuer',
    /^"https:\/\/mcp\.example\.com" → "https:\/\/[mcp]{2,3}\./,
    { check: true, webhook: 'warned', crd: false, undecidable: undefined },
  ],
  [
    'other issuer',
    'spec.authServerConfig.upstreamProviders[0].oidcConfig.issuerUrl',
    /./,
    { undecidable: 'outside' },
  ],
  [
    'provider misspelt',
    'spec.upstreamInject.providerName',
    /^"github" → /,
    { check: true, undecidable: undefined },
  ],
  ['other provider', 'spec.upstreamInject.providerName', /^"github" → "okta"$/, { undecidable: 'choice' }],
  ['own name misspelt', 'metadata.name', /^"engineering-tokens" → /, { check: true, undecidable: undefined }],
  ['other namespace', 'metadata', /^namespace default → /, { check: true, undecidable: undefined }],
  [
    'other value',
    'spec.type',
    /^"tokenExchange" → /,
    { check: true, webhook: 'denied', undecidable: undefined },
  ],
]

t.test('mistakes, and who catches them', (t) => {
  const all = made(GATEWAY)
  for (const [of, path, change, caught] of ROWS) {
    const found = all.filter((each) => each.class === of && each.path === path && change.test(each.change))
    t.ok(found.length > 0, `${of} at ${path}`)
    t.match(found[0], caught, `${of} at ${path}: ${found[0]?.change}`)
  }
  t.end()
})

t.test('no mistake means the same as what stands there, or leaves everything as it is', (t) => {
  const values = EXAMPLES.map(({ value }) => value)
  for (const mistake of mistakesIn(linkObjects(values, judging, installed))) {
    const before = values[mistake.object] as object
    const after = withMistake(before, mistake)
    if (JSON.stringify(before) === JSON.stringify(after)) t.fail(JSON.stringify(mistake))
  }
  const all = made(`apiVersion: ${group}/v1beta1
kind: MCPExternalAuthConfig
metadata: { name: aws }
spec:
  type: awsSts
  awsSts: { region: eu-west-1, service: aws-mcp, roleClaim: teams, fallbackRoleArn: 'arn:aws:iam::123456789012:role/a' }
`)
  const removed = all.filter((each) => each.class === 'missing').map(({ path }) => path)
  t.ok(removed.includes('spec.awsSts.roleClaim'))
  t.notOk(removed.includes('spec.awsSts.service'), 'it has its default')
  t.end()
})

t.test('check says what a new judgement of all files says', (t) => {
  const values = EXAMPLES.map(({ value }) => value)
  const release: Release = { version: '0.63.0', schemas: Object.fromEntries(installed.schemas) }
  const judged = (objects: readonly unknown[]) =>
    Map.groupBy(
      judge(objects, { release }).findings.filter(({ severity }) => severity !== 'advice'),
      ({ index, id, path, severity }: Finding) =>
        `${index} ${severity} ${id} ${path.replaceAll(/\[\d+\]/g, '')}`,
    )
  const before = judged(values)
  const judges = new Judges(EXAMPLES, judging)
  const all = [...mistakesIn(linkObjects(values, judging, installed))]
  for (const mistake of sampled(all, 100, 7)) {
    const objects = values.with(mistake.object, withMistake(values[mistake.object] as object, mistake))
    const after = judged(objects)
    const isNew = [...after].some(([key, found]) => found.length > (before.get(key)?.length ?? 0))
    if (judges.catchers(mistake).check !== isNew) t.fail(`check: ${!isNew}`, { mistake })
  }
  t.end()
})

t.test('the shares of the examples do not fall', (t) => {
  const counts = countsOf(coverageOf(EXAMPLES, judging, { limit: 0, seed: 1 }).made)
  t.comment(JSON.stringify(counts))
  t.ok(counts.mistakes > 1_400, `${counts.mistakes} mistakes`)
  t.ok(counts.caught / counts.decidable >= 0.995, `${counts.caught} of ${counts.decidable}`)
  t.ok(counts.meaningCaught / counts.meaning >= 0.98, `${counts.meaningCaught} of ${counts.meaning}`)
  t.end()
})

const GROUP_NAMED = (name: string) =>
  `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPGroup\nmetadata: { name: ${name} }\n`

t.test('beside many objects fewer mistakes are made than the limit allows', (t) => {
  const many = Array.from({ length: 500 }, (_, i) => GROUP_NAMED(`a${i}`)).join('---\n')
  const { made, mistakes } = coverageOf(given({ 'a.yaml': many }), judging, { limit: 1_000, seed: 1 })
  t.match([made.length, mistakes > 400], [400, true])
  t.end()
})

t.test('the command', async (t) => {
  const cwd = t.testdir()
  cpSync(join(ROOT, 'examples/virtual-mcp-server.yaml'), join(cwd, 'gateway.yaml'))
  const run = (...args: string[]) => runCli(args, { cwd, program: measureMistakes })
  const some = ['--limit', '40', 'gateway.yaml']
  const { status, stdout, stderr } = await run(...some)
  t.strictSame([status, stderr], [0, ''])
  t.match(stdout, /^class +mistakes +decidable +editor +check +denied +warned +CRD +nobody\n/)
  t.match(
    stdout,
    /\n40 of \d+ mistakes of one field in 7 resources of 1 file, with the CRDs of operator release 0\.63\n/,
  )
  t.equal((await run(...some)).stdout, stdout, 'the same sample again')
  t.not((await run('--seed', '2', ...some)).stdout, stdout)
  t.match((await run('--by', 'field', ...some)).stdout, /^field .*\nMCP\w+ /)
  t.match(
    (await run('--output', 'markdown', ...some)).stdout,
    /^<!-- coverage of mistakes -->\n.*\| class \| mistakes/s,
  )
  t.match(
    (await run('--output', 'html', ...some)).stdout,
    /<script type="application\/json" id="coverage">\{/,
  )
  const json = JSON.parse((await run('--output', 'json', ...some)).stdout) as { made: Made[]; counts: object }
  t.equal(json.made.length, 40)
  t.match(json.counts, { mistakes: 40 })
  t.equal((await run('--at-least', '50', ...some)).status, 0)
  t.equal((await run('--at-least', '100', '--release', 'none', '--limit', '150', 'gateway.yaml')).status, 1)
  t.equal((await run('--at-least', '101', ...some)).status, 2)
  t.equal((await run()).status, 2)
  t.equal((await run('no-such-file.yaml')).status, 3)
  writeFileSync(join(cwd, 'other.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n')
  t.match(await run('--at-least', '100', 'other.yaml'), {
    status: 3,
    stdout: '',
    stderr:
      'no resource of toolhive.stacklok.dev is in 1 file: name the files or folders with your VirtualMCPServers',
  })
})

t.test('the page names each class, and shows what the command prints', async (t) => {
  const page = readFileSync(`${ROOT}contributing/mistakes.md`, 'utf8')
  for (const [name, what] of Object.entries(CLASSES))
    t.ok(page.includes(`| ${name} `) && page.includes(what), name)
  const [, command = '', shown] =
    /^```console\n\$ npm run --silent mistakes -- (.*)\n([\s\S]*?)^```$/m.exec(page) ?? []
  const { stdout } = await runCli(command.split(' '), { cwd: ROOT, program: measureMistakes })
  t.equal(stdout, shown, command)
})
