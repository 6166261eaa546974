import { readFlags, toggle, UsageError } from '../configuration/flags.ts'
import { DEFAULT_API_GROUP } from '../kinds/index.ts'
import { WEBHOOK_NAME } from '../kinds/registration.ts'
import { INSTALLATION_FLAGS } from './cluster-flags.ts'
import { part } from './doctor/findings.ts'
import { CA_SECRET } from './doctor/setup.ts'
import type { Opened } from './live.ts'
import { EXIT } from './report.ts'
import { visible } from './visible.ts'

export const UNINSTALL_FLAGS = {
  all: toggle(`remove the Lease and the Secret ${CA_SECRET} too`),
  ...INSTALLATION_FLAGS,
}

/** Removes the webhook configurations; returns the exit code. Throws UsageError. */
export async function uninstall(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { values: flags, positionals } = readFlags(UNINSTALL_FLAGS, args, environment)
  if (positionals.length > 0)
    throw new UsageError('uninstall takes no files; --namespace names the installation')
  const { kubeconfig, namespace, all } = flags
  const { openInstallation } = await import('./live.ts')
  const failures: string[] = []
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work()
    } catch (error) {
      failures.push(what)
      tell(`vmcp-admission: ${what}: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }
  const opened = await attempt('no cluster', () =>
    openInstallation({ kubeconfig, group: DEFAULT_API_GROUP }, namespace, environment),
  )
  if (opened === undefined) return EXIT.unread
  try {
    const runs = await attempt('cannot see whether a server runs', () => warning(opened, namespace))
    if (runs !== undefined && runs !== '') tell(`vmcp-admission: warning: ${runs}`)
    const kinds = await attempt('cannot remove the webhook configurations', () =>
      opened.registrations.deleteConfigurations(),
    )
    const removed = (kinds ?? []).map((kind) => `${kind} ${WEBHOOK_NAME}`)
    if (all) {
      const { installation } = opened
      const lease = `Lease ${namespace}/${WEBHOOK_NAME}`
      if (await attempt(`cannot remove ${lease}`, () => installation.deleteLease(WEBHOOK_NAME)))
        removed.push(lease)
      const secret = `Secret ${namespace}/${CA_SECRET}`
      if (await attempt(`cannot remove ${secret}`, () => installation.deleteSecret(CA_SECRET)))
        removed.push(secret)
    }
    const lines = removed.map((each) => `removed ${each}`)
    if (lines.length === 0 && failures.length === 0) lines.push('nothing to remove')
    process.stdout.write(lines.map((line) => `${visible(line)}\n`).join(''))
    if (failures.length > 0) return EXIT.unread
    return runs === '' ? EXIT.clean : EXIT.findings
  } finally {
    opened.close()
  }
}

const tell = (line: string) => void process.stderr.write(`${visible(line)}\n`)

/** That a server runs, which would write the configurations again; empty when none does. */
async function warning({ installation, registrations }: Opened, namespace: string): Promise<string> {
  const deployment = await installation.readDeployment(WEBHOOK_NAME)
  const replicas = part(deployment, 'spec', 'replicas')
  if (deployment !== undefined && replicas !== 0)
    return `Deployment ${namespace}/${WEBHOOK_NAME} still runs and would write the configurations again; first kubectl -n ${namespace} scale deployment ${WEBHOOK_NAME} --replicas=0`
  const lease = await registrations.lease(WEBHOOK_NAME).read()
  if (lease === undefined || lease.holder === '') return ''
  const age = Date.now() - Date.parse(lease.renewed)
  return age <= lease.seconds * 1_000
    ? `${lease.holder} holds Lease ${namespace}/${WEBHOOK_NAME} and would write the configurations again; stop it first`
    : ''
}
