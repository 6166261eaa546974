import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Writes the files that COMMAND_ROWS name. */
export function writeInputs(folder: string): void {
  writeFileSync(join(folder, 'claims.json'), '{"sub":"alice","groups":["billing-admins"]}')
  for (const [from, to] of [
    ['examples/together/three-mistakes.yaml', 'gateway.yaml'],
    ['examples/aws-sts.yaml', 'aws.yaml'],
    ['deploy/crds', 'crds'],
  ] as const)
    cpSync(join(ROOT, from), join(folder, to), { recursive: true })
}

const NO_CLUSTER = /there is no kubeconfig/
/** Command lines, each with its exit code and a pattern of its output, for a folder that `writeInputs` has filled. */
export const COMMAND_ROWS: readonly (readonly [args: readonly string[], status: number, said: RegExp])[] = [
  [['--version'], 0, /^\d+\.\d+\.\d+$/m],
  [['--help'], 0, /^Usage: vmcp-admission COMMAND/],
  [['no-such-command'], 2, /is not a command/],
  [['check', 'gateway.yaml'], 1, /7 resources in 1 file: 3 errors, 2 warnings/],
  [['check', '--release', '0.63', '--output', 'json', 'gateway.yaml'], 1, /"errors": 3/],
  [['check', '--crds', 'crds', 'gateway.yaml'], 2, /no CustomResourceDefinition of an operator/],
  [['check', 'aws.yaml'], 0, /0 errors/],
  [['check', '--cluster', 'gateway.yaml'], 3, NO_CLUSTER],
  [['check', 'no-such-file.yaml'], 3, /no-such-file\.yaml/],
  [['audit'], 3, NO_CLUSTER],
  [['explain'], 0, /^role-mapping-matcher-compiles /m],
  [['explain', 'role-mapping-matcher-compiles'], 0, /A matcher is a CEL expression/],
  [['explain', 'VirtualMCPServer'], 0, /spec\.incomingAuth/],
  [['plan', 'gateway.yaml'], 0, /^VirtualMCPServer gateway/m],
  [['role', '--config', 'aws.yaml', '--claims', 'claims.json'], 0, /^role: arn:/m],
  [['access', '--config', 'aws.yaml', '--claims', 'claims.json'], 0, /^role: arn:/m],
  [['access', 'aws.yaml', 'aws.yaml'], 0, /^no difference for any caller/m],
  [['steps', 'aws.yaml', 'aws.yaml'], 0, /^no object changes$/m],
  [['fix', 'gateway.yaml'], 0, /^0 changes in 0 files$/m],
  [['init', '--provider', 'github', '--release', '0.63'], 0, /^kind: VirtualMCPServer$/m],
  [['lsp', '--help'], 0, /vmcp-admission lsp/],
  // `mcp` ends when its standard input does, and here that is empty.
  [['mcp'], 0, /^$/],
  [['playground', '--write', 'site'], 0, /^site.index\.html$/m],
  [['probe', '--list', 'gateway.yaml'], 0, /not asked: a name for documentation/],
  [['probe', 'aws.yaml'], 0, /0 requests sent: 0 errors/],
  [['replay', 'claims.json'], 3, /claims\.json:1:1: cannot read: not an audit event/],
  [['completion', 'bash'], 0, /^complete .* vmcp-admission$/m],
  [['doctor'], 3, NO_CLUSTER],
  [['uninstall'], 3, NO_CLUSTER],
]
