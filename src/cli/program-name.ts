import { basename } from 'node:path'

/** The command as users type it: kubectl runs a program named like a plugin as `kubectl vmcp-admission`. */
export const PROGRAM = basename(process.argv[1] ?? '').startsWith('kubectl-vmcp_admission')
  ? 'kubectl vmcp-admission'
  : 'vmcp-admission'
