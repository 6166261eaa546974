import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { BACKEND, CONFIG, GATEWAY, GROUP, OIDC } from '../support/editor-files.ts'
import { programFile } from '../support/programs.ts'

const SCRIPT = fileURLToPath(new URL('neovim.lua', import.meta.url))
const MAIN = programFile('cli')
const run = promisify(execFile)

const installed = await run('nvim', ['--version']).then(
  () => true,
  () => false,
)
const SKIP =
  installed || process.env.CI === 'true' ? false : 'nvim is not on the PATH: apt-get install neovim'

t.test(
  'Neovim shows a finding, completes the right name, and renames it in both files',
  { skip: SKIP },
  async (t) => {
    const cwd = t.testdir({
      'backend.yaml': BACKEND,
      'gateway.yaml': GATEWAY,
      'group.yaml': GROUP,
      'oidc.yaml': OIDC,
      'config.yaml': CONFIG.replace('okta', 'github'),
    })
    const env = { ...process.env, HOME: cwd, VMCP_COMMAND: `${process.execPath} ${MAIN} lsp --stdio` }
    const { stdout } = await run('nvim', ['--headless', '-u', 'NONE', '-S', SCRIPT], {
      cwd,
      env,
      timeout: 120_000,
    })
    const lines = stdout.split(/\r?\n/).filter((line) => line.startsWith('{'))
    t.match(
      lines.map((line) => JSON.parse(line) as object),
      [
        { shown: true },
        { line: 8, column: 19, message: /^names provider .* VirtualMCPServer "gateway" .*there is "okta"/ },
        { completion: ['okta'] },
        { clean: true, text: '    providerName: okta' },
        { config: '    providerName: entra', gateway: '      - name: entra' },
      ],
    )
  },
)
