#!/usr/bin/env node
import { helpLines, UsageError } from '../configuration/flags.ts'
import { AUDIT_FLAGS, audit } from './audit.ts'
import { CHECK_FLAGS, check } from './check.ts'
import { doctor, DOCTOR_FLAGS } from './doctor.ts'
import { explain } from './explain.ts'
import { PLAN_FLAGS, plan } from './plan.ts'
import { EXIT } from './report.ts'
import { role, ROLE_FLAGS } from './role.ts'
import { uninstall, UNINSTALL_FLAGS } from './uninstall.ts'

const USAGE = [
  'Usage: vmcp-admission COMMAND',
  '',
  'Checks the authentication resources of vMCP as the admission webhook does, in files and in clusters.',
  '',
  '  check [flags] FILE|DIRECTORY|- ...            judge the resources in these files',
  '  check --cluster FILE|DIRECTORY|- ...          judge them as if applied onto a cluster',
  '  audit [flags]                                 judge the resources that are in a cluster',
  '  explain ID                                    what a rule asks for, why, and how to satisfy it',
  '  plan [flags] FILE|DIRECTORY|- ...             who is authenticated how: clients, and vMCP at each backend',
  '  plan [flags] OLD NEW                          what changes between two files or folders, and for whom',
  '  plan --cluster                                who is authenticated how in a cluster',
  '  plan --cluster FILE|DIRECTORY|- ...           what the files would change in a cluster, and for whom',
  '  role --config FILE --claims FILE|-            which IAM role a caller gets, and why',
  '  role --cluster --config NAME --claims FILE|-  the same, with a configuration in a cluster',
  '  doctor [flags]                                what is wrong with an installation of the webhook',
  '  uninstall [flags]                             remove the webhook configurations from a cluster',
  '',
  'Flags of check:',
  ...helpLines(CHECK_FLAGS),
  '',
  'Flags of audit:',
  ...helpLines(AUDIT_FLAGS),
  '',
  'Flags of plan:',
  ...helpLines(PLAN_FLAGS),
  '',
  'Flags of role:',
  ...helpLines(ROLE_FLAGS),
  '',
  'Flags of doctor:',
  ...helpLines(DOCTOR_FLAGS),
  '',
  'Flags of uninstall:',
  ...helpLines(UNINSTALL_FLAGS),
  '',
  'Exit codes: 0 no error, 1 at least one error (of role: no role; of doctor: a problem), 2 wrong usage, 3 something could not be read.',
  '',
].join('\n')

async function main([command, ...args]: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) return main(['help'])
  switch (command) {
    case 'check':
      return check(args, process.env)
    case 'audit':
      return audit(args, process.env)
    case 'explain':
      return explain(args)
    case 'plan':
      return plan(args, process.env)
    case 'role':
      return role(args, process.env)
    case 'doctor':
      return doctor(args, process.env)
    case 'uninstall':
      return uninstall(args, process.env)
    case 'help':
    case '--help':
    case '-h':
      process.stdout.write(USAGE)
      return EXIT.clean
    case undefined:
      throw new UsageError('name a command: check, audit, explain, plan, role, doctor or uninstall')
    default:
      throw new UsageError(
        `'${command}' is not a command; the commands are check, audit, explain, plan, role, doctor and uninstall`,
      )
  }
}

/** One line for the person; the stack only when the fault is ours. Returns the exit code. */
function failed(error: unknown): number {
  if (error instanceof UsageError) {
    process.stderr.write(`vmcp-admission: ${error.message}\nvmcp-admission --help shows how it is used\n`)
    return EXIT.usage
  }
  process.stderr.write(`vmcp-admission: ${error instanceof Error ? error.stack : String(error)}\n`)
  return EXIT.unread
}

// Whoever reads the output may stop early, as `head` does; a disk may be full.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') return
  process.stderr.write(`vmcp-admission: cannot write the output: ${message}\n`)
  process.exit(EXIT.unread)
})

process.exitCode = await main(process.argv.slice(2)).catch(failed)

// A plugin for credentials that hangs must not keep us once all is written.
process.stdout.write('', () => setTimeout(() => process.exit(), 100).unref())
