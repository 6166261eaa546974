import { helpLines } from '../configuration/flags.ts'
import { access, ACCESS_FLAGS } from './commands/access.ts'
import { AUDIT_FLAGS, audit } from './commands/audit.ts'
import { CHECK_FLAGS, check } from './commands/check.ts'
import { completion } from './commands/completion.ts'
import { coverage, COVERAGE_FLAGS } from './commands/coverage.ts'
import { doctor, DOCTOR_FLAGS } from './commands/doctor.ts'
import { explain } from './commands/explain.ts'
import { fix, FIX_FLAGS } from './commands/fix.ts'
import { lsp, LSP_FLAGS } from './commands/lsp.ts'
import { PLAN_FLAGS, plan } from './commands/plan.ts'
import { probe, PROBE_FLAGS } from './commands/probe.ts'
import { replay, REPLAY_FLAGS } from './commands/replay.ts'
import { playground, PLAYGROUND_FLAGS } from './commands/playground.ts'
import { role, ROLE_FLAGS } from './commands/role.ts'
import { uninstall, UNINSTALL_FLAGS } from './commands/uninstall.ts'
import { steps, STEPS_FLAGS } from './commands/steps.ts'
import { PROGRAM } from './program-name.ts'

export interface Command {
  /** The forms of its arguments, and what each does. */
  readonly ways: readonly (readonly [args: string, does: string])[]
  /** The arguments of an example. */
  readonly example: string
  readonly flags: object
  /** The meaning of its exit codes; 2 is wrong usage for all. */
  readonly exits: Readonly<Record<number, string>>
  /** Returns the exit code. Throws UsageError. */
  run(
    args: readonly string[],
    environment: Readonly<Record<string, string | undefined>>,
  ): number | Promise<number>
}

const UNREAD = 'something could not be read'
const OF_FINDINGS = { 0: 'no error', 1: 'at least one error', 3: UNREAD }

/** By name, in the order of the help. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  [
    'check',
    {
      ways: [
        ['[flags] FILE|DIRECTORY|- ...', 'judge the resources in these files'],
        ['--cluster FILE|DIRECTORY|- ...', 'judge them as if applied onto a cluster'],
      ],
      example: 'deploy/',
      flags: CHECK_FLAGS,
      exits: OF_FINDINGS,
      run: check,
    },
  ],
  [
    'fix',
    {
      ways: [['[flags] FILE|DIRECTORY ...', 'print safe fixes of these files as a diff, or make them']],
      example: '--write deploy/',
      flags: FIX_FLAGS,
      exits: { 0: 'nothing to fix, or --write has fixed it', 1: 'there are fixes in the diff', 3: UNREAD },
      run: fix,
    },
  ],
  [
    'audit',
    {
      ways: [['[flags]', 'judge the resources that are in a cluster']],
      example: '--namespaces tools,shop',
      flags: AUDIT_FLAGS,
      exits: OF_FINDINGS,
      run: audit,
    },
  ],
  [
    'explain',
    {
      ways: [
        ['', 'list every id that a finding can have'],
        ['ID', 'print what a rule asks for, why, and examples'],
        ['KIND', 'print the fields of a kind, and the rules about it'],
        ['PATH', 'print what a field is for, and the rules about it'],
      ],
      example: 'role-mapping-matcher-compiles',
      flags: {},
      exits: { 0: 'done' },
      run: explain,
    },
  ],
  [
    'plan',
    {
      ways: [
        ['[flags] FILE|DIRECTORY|- ...', 'print how clients and vMCP are authenticated'],
        ['[flags] OLD NEW', 'print what changes between two files or folders'],
        ['--cluster', 'print how clients and vMCP are authenticated in a cluster'],
        ['--cluster FILE|DIRECTORY|- ...', 'print what the files would change in a cluster'],
      ],
      example: 'deploy/',
      flags: PLAN_FLAGS,
      exits: { 0: 'done', 3: UNREAD },
      run: plan,
    },
  ],
  [
    'role',
    {
      ways: [
        ['--config FILE --claims FILE|-', 'print which IAM role a caller gets, and why'],
        ['--cluster --config NAME --claims FILE|-', 'print the same for a configuration in a cluster'],
      ],
      example: '--config aws.yaml --claims ann.json',
      flags: ROLE_FLAGS,
      exits: { 0: 'a role', 1: 'no role', 3: UNREAD },
      run: role,
    },
  ],
  [
    'access',
    {
      ways: [
        ['[flags] OLD NEW', 'print who gets which role differently, with an example of each caller'],
        ['--cluster FILE|DIRECTORY ...', 'print the same for what the files would change in a cluster'],
        ['--who PATTERN FILE|DIRECTORY ...', 'print who gets such a role in one state, or that nobody can'],
      ],
      example: 'git:main deploy/',
      flags: ACCESS_FLAGS,
      exits: { 0: 'done', 1: 'somebody newly gets what --deny-new denies', 3: UNREAD },
      run: access,
    },
  ],
  [
    'steps',
    {
      ways: [
        [
          '[flags] OLD NEW',
          'print in which steps a change passes the webhook, and nobody loses or gains access',
        ],
        ['--cluster FILE|DIRECTORY ...', 'print the same for a change of a cluster; --apply carries it out'],
      ],
      example: 'git:main deploy/',
      flags: STEPS_FLAGS,
      exits: {
        0: 'there is an order, and with --apply it is applied',
        1: 'there is none without harm, the new state contradicts itself, or a step failed',
        3: UNREAD,
      },
      run: steps,
    },
  ],
  [
    'lsp',
    {
      ways: [['[flags]', 'serve an editor: findings, completion, names (Language Server Protocol)']],
      example: '--stdio',
      flags: LSP_FLAGS,
      exits: { 0: 'the editor has ended' },
      run: lsp,
    },
  ],
  [
    'playground',
    {
      ways: [
        ['[--port PORT]', 'serve a page to judge manifests in a browser, on this machine alone'],
        ['--write DIR', 'write this page into a folder, to publish it'],
      ],
      example: '--port 8080',
      flags: PLAYGROUND_FLAGS,
      exits: { 0: 'ended with Ctrl+C, or written', 3: 'cannot listen, or cannot write' },
      run: playground,
    },
  ],
  [
    'doctor',
    {
      ways: [['[flags]', 'find problems of an installation of the webhook']],
      example: '--wait 120',
      flags: DOCTOR_FLAGS,
      exits: { 0: 'all is well', 1: 'a problem', 3: 'something could not be checked' },
      run: doctor,
    },
  ],
  [
    'uninstall',
    {
      ways: [['[flags]', 'remove the webhook configurations from a cluster']],
      example: '--all',
      flags: UNINSTALL_FLAGS,
      exits: {
        0: 'removed, or nothing was there',
        1: 'a server runs that would write them again, or they are of another installation',
        3: 'something could not be removed',
      },
      run: uninstall,
    },
  ],
  [
    'probe',
    {
      ways: [
        [
          '[flags] FILE|DIRECTORY|- ...',
          'ask the issuers and endpoints that these files name whether they agree',
        ],
        ['--cluster', 'ask those that the resources in a cluster name'],
      ],
      example: '--yes deploy/',
      flags: PROBE_FLAGS,
      exits: OF_FINDINGS,
      run: probe,
    },
  ],
  [
    'replay',
    {
      ways: [['[flags] LOG|- ...', 'judge the writes of audit logs as the webhook would have']],
      example: 'audit.log',
      flags: REPLAY_FLAGS,
      exits: { 0: 'no write would have been denied', 1: 'at least one would have been', 3: UNREAD },
      run: replay,
    },
  ],
  [
    'coverage',
    {
      ways: [['[flags] FILE|DIRECTORY ...', 'make mistakes in these files, and print who would catch them']],
      example: 'deploy/',
      flags: COVERAGE_FLAGS,
      exits: { 0: 'done', 1: 'fewer are caught than --at-least asks for', 3: UNREAD },
      run: coverage,
    },
  ],
  [
    'completion',
    {
      ways: [['bash|zsh|fish', 'print what completes commands, flags and ids in a shell']],
      example: 'bash',
      flags: {},
      exits: { 0: 'done' },
      run: (args) => completion(args, COMMANDS),
    },
  ],
])

/** The names of all commands, as a sentence lists them: `a, b or c`. */
export function listed(word: 'and' | 'or'): string {
  const names = [...COMMANDS.keys()]
  return `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1) ?? ''}`
}

/** The text of `--help` without a command. */
export function overview(): string {
  const ways = [...COMMANDS].flatMap(([name, command]) => waysOf(name, command))
  return text([
    `Usage: ${PROGRAM} COMMAND`,
    '',
    'Checks the authentication resources of vMCP as the admission webhook does, in files and in clusters.',
    '',
    ...columns(ways),
    '',
    `${PROGRAM} COMMAND --help prints the flags and exit codes of a command, and an example; --version prints the version.`,
  ])
}

/** The text of `--help` for one command. */
export function helpOf(name: string, command: Command): string {
  const flags = helpLines(command.flags)
  const exits = Object.entries({ ...command.exits, 2: 'wrong usage' }).map(([code, why]) => `${code} ${why}`)
  const call = `${PROGRAM} ${name}`
  return text([
    'Usage:',
    ...columns(waysOf(call, command)),
    ...(flags.length === 0 ? [] : ['', 'Flags, each with its environment variable:', ...flags]),
    '',
    `Exit codes: ${exits.join(', ')}.`,
    `Example: ${call} ${command.example}`,
  ])
}

const waysOf = (call: string, { ways }: Command) =>
  ways.map(([args, does]) => [`${call} ${args}`.trimEnd(), does] as const)

function columns(rows: readonly (readonly [left: string, right: string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}

const text = (lines: readonly string[]): string => `${lines.join('\n')}\n`
