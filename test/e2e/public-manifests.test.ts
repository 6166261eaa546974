// cspell:ignore mcps codemode oidcconfig
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { measureMistakes } from '../../tools/mistakes/command.ts'
import { runCli } from '../support/cli.ts'

/**
 * The warnings about the examples in the operator's repository, which are given together; some of them use the same
 * names.
 */
const WARNINGS: readonly (readonly [file: string, id: string])[] = [
  ['redis-storage/mcpexternalauthconfig-redis-storage.yaml', 'upstream-refresh-token-requested'],
  ['virtual-mcps/composite_tool_complex.yaml', 'group-has-backends'],
  ['virtual-mcps/composite_tool_with_elicitations.yaml', 'group-has-backends'],
  ['virtual-mcps/vmcp_codemode.yaml', 'group-has-backends'],
  // It names `Action::"tools/call"` and `Action::"resources/read"`, about which no release asks.
  ['virtual-mcps/vmcp_inline_incoming_auth.yaml', 'authorization-policy-matches'],
  ['virtual-mcps/vmcp_inline_incoming_auth.yaml', 'authorization-policy-matches'],
  ['virtual-mcps/vmcp_inline_incoming_auth.yaml', 'authorization-policy-matches'],
  ['virtual-mcps/vmcp_inline_incoming_auth.yaml', 'reference-found'],
  ['virtual-mcps/vmcp_production_full.yaml', 'authorization-policy-matches'],
  ['virtual-mcps/vmcp_production_full.yaml', 'authorization-policy-matches'],
  ['virtual-mcps/vmcp_production_full.yaml', 'reference-found'],
  ['virtual-mcps/vmcp_with_oidcconfig_ref.yaml', 'authorization-policy-matches'],
]

const GO_MOD = fileURLToPath(new URL('../golden/record-operator-verdicts/go.mod', import.meta.url))
const [module, version] =
  /^\t(github\.com\/stacklok\/toolhive) (v\d+\.\d+\.\d+)$/m.exec(readFileSync(GO_MOD, 'utf8'))?.slice(1) ?? []
const release = /^v(\d+\.\d+)/.exec(version ?? '')?.[1] ?? ''

interface Finding {
  readonly file: string
  readonly severity: string
  readonly id: string
}

/**
 * The folder of the operator's Go module, which may need a newer Go than the installed one. CI must be able to download
 * it.
 */
function downloaded(): string | undefined {
  const { status, stdout, stderr } = spawnSync('go', ['mod', 'download', '-json', `${module}@${version}`], {
    encoding: 'utf8',
    cwd: tmpdir(),
    env: { ...process.env, GOTOOLCHAIN: 'auto' },
  })
  if (status === 0) return (JSON.parse(stdout) as { Dir: string }).Dir
  if (process.env.CI === 'true') throw new Error(`${module}: ${stderr}${stdout}`)
  return undefined
}

const folder = downloaded()
const skip = folder === undefined && `go mod download ${module} failed`

t.test("the operator's own examples", { skip }, async (t) => {
  const cwd = join(folder ?? '', 'examples/operator')
  const files = globSync('**/*.yaml', { cwd })
    .filter((file) => readFileSync(join(cwd, file), 'utf8').includes('toolhive.stacklok.dev/'))
    .toSorted()
  t.ok(files.length > 40, `${files.length} files of ${version}`)

  const check = await runCli(['check', '--release', release, '--output', 'json', ...files], { cwd })
  const { findings } = JSON.parse(check.stdout) as { findings: readonly Finding[] }
  t.equal(check.status, 0, check.stderr)
  const said = findings.filter(({ severity }) => severity !== 'advice').map(({ file, id }) => [file, id])
  t.strictSame(said.toSorted(), WARNINGS)

  const coverage = await runCli(
    ['--quiet', '--limit', '0', '--release', release, '--output', 'json', ...files],
    { cwd, program: measureMistakes },
  )
  const { counts } = JSON.parse(coverage.stdout) as { counts: Readonly<Record<string, number>> }
  t.comment(JSON.stringify(counts))
  const { decidable = NaN, caught = NaN, meaning = NaN, meaningCaught = NaN } = counts
  t.ok(caught / decidable >= 0.995, `${caught} of ${decidable} decidable mistakes are caught`)
  t.ok(meaningCaught / meaning >= 0.98, `${meaningCaught} of ${meaning} that the CRDs accept`)
})
