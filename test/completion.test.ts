// cspell:ignore compinit compreply cword fpath zmodload zpty MCPO
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { COMMANDS } from '../src/cli/commands.ts'
import { SHELLS } from '../src/cli/output/completion.ts'
import { runCli } from './support/cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-completion-'))
t.teardown(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, 'gateway.yaml'), '')

const scripts = new Map<string, string>()
for (const shell of SHELLS) {
  const { status, stdout } = await runCli(['completion', shell], { cwd: folder })
  t.equal(status, 0)
  const path = join(folder, `script.${shell}`)
  writeFileSync(path, stdout)
  scripts.set(shell, path)
}

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    cwd: folder,
    timeout: 30_000,
  })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${program} ended with ${status ?? 'a timeout'}: ${stderr}`)
  t.equal(stderr, '')
  return stdout
}

const isInstalled = (program: string) => spawnSync(program, ['--version']).error === undefined

/** A test with a real shell; it is skipped when the shell is not installed, except in CI. */
const withShell = (shell: string, test: () => void) => {
  const isHere = isInstalled(shell)
  const skip = isHere || process.env.CI === 'true' ? false : `${shell} is not installed`
  return t.test(`completion in ${shell}`, { skip }, async () => test())
}

/**
 * A zsh script that types `vmcp-admission comp`, Tab, `fi`, Tab into a zsh on a terminal and prints what that displays.
 */
const ZSH_TERMINAL = `
  zmodload zsh/zpty
  zpty shell zsh -f -i
  zpty -w shell 'PS1=rea""dy; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D'
  zpty -r shell seen '*ready*'
  zpty -w -n shell 'vmcp-admission comp'$'\\t'
  zpty -r shell seen '*completion*'
  zpty -w -n shell 'fi'$'\\t'
  zpty -r shell more '*fish*'
  print -r -- "$seen$more"
`

/** The words typed, words that completion must offer, and a word that it must not offer. */
const ROWS: [typed: string[], offered: string[], not: string][] = [
  [[''], [...COMMANDS.keys()], 'deploy'],
  [['ch'], ['check'], 'audit'],
  [['check', '--ou'], ['--output'], '--server-dry-run'],
  [['check', '--output', ''], ['human', 'sarif', 'gitlab'], 'policyreport'],
  [['audit', '--output', 'p'], ['policyreport'], 'sarif'],
  [['check', '--output', 'o'], ['openreports'], 'sarif'],
  [['explain', 'role-m'], ['role-mapping-matcher-compiles'], 'reference-found'],
  [['explain', 'MCPO'], ['MCPOIDCConfig'], 'MCPServer'],
  [['completion', ''], [...SHELLS], 'check'],
]

withShell('bash', () => {
  for (const [typed, offered, not] of ROWS) {
    const words = ['vmcp-admission', ...typed].map((word) => `'${word}'`).join(' ')
    const lines = run(
      'bash',
      '-c',
      `source '${scripts.get('bash')}'; COMP_WORDS=(${words}); COMP_CWORD=${typed.length}; _vmcp_admission; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p vmcp-admission`,
    ).split('\n')
    for (const word of offered) t.ok(lines.includes(word), `${typed.join(' ')}: ${word}`)
    t.notOk(lines.includes(not), `${typed.join(' ')}: not ${not}`)
    t.match(lines.at(-2), '-o default', 'files where nothing is offered')
  }
}).catch(t.threw)

withShell('fish', () => {
  for (const [typed, offered, not] of ROWS) {
    const line = ['vmcp-admission', ...typed].join(' ')
    const lines = run('fish', '-c', `source '${scripts.get('fish')}'; complete -C '${line}'`)
      .split('\n')
      .map((each) => each.split('\t')[0])
    for (const word of offered) t.ok(lines.includes(word), `${line}: ${word}`)
    t.notOk(lines.includes(not), `${line}: not ${not}`)
  }
  const files = run('fish', '-c', `source '${scripts.get('fish')}'; complete -C 'vmcp-admission check g'`)
  t.match(files, 'gateway.yaml')
}).catch(t.threw)

withShell('zsh', () => {
  const registered = `autoload -U compinit && compinit -u -D; source '${scripts.get('zsh')}'; print -r -- "$_comps[vmcp-admission]"`
  t.match(run('zsh', '-f', '-c', registered), '_bash_complete')

  // As for a user: the script is in the fpath, and Tab is the first key in a new shell.
  copyFileSync(scripts.get('zsh') ?? '', join(folder, '_vmcp-admission'))
  const typed = run('zsh', '-f', '-c', ZSH_TERMINAL)
  t.match(typed, 'vmcp-admission completion')
  t.match(typed, 'fish')
}).catch(t.threw)
