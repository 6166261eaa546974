import { basename } from 'node:path'

/** The command as users type it: `kubectl vmcp-admission` when the program is named as a plugin of kubectl. */
export const PROGRAM = basename(process.argv[1] ?? '').startsWith('kubectl-vmcp_admission')
  ? 'kubectl vmcp-admission'
  : 'vmcp-admission'
