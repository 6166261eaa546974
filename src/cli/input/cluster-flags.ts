import { namespaceNames, text, toggle, UsageError } from '../../configuration/flags.ts'

const kubeconfig = text(
  'kubeconfig of the cluster; by default that of kubectl, else the service account of the pod',
  'FILE',
  '',
)
const checkSecrets = toggle('look whether Secrets that are named exist, have the key and are long enough')

/** Flags of a command that always reads a cluster. */
export const LIVE_FLAGS = {
  kubeconfig,
  namespaces: namespaceNames('read these namespaces only, separated by commas: then Roles suffice'),
  'check-secrets': checkSecrets,
}

/** Flags of a command about an installed server. */
export const INSTALLATION_FLAGS = {
  kubeconfig,
  namespace: text('namespace of the installation', 'NAME', 'vmcp-system'),
}

/** Flags of a command that reads a cluster only with `--cluster`. */
export const CLUSTER_FLAGS = {
  cluster: toggle('together with the objects of a cluster'),
  kubeconfig,
}

export const CHECK_SECRETS = { 'check-secrets': checkSecrets }

/** Whether the flag is one of the arguments; false when only the environment sets it. */
export const isWritten = (name: string, args: readonly string[]): boolean =>
  args.some((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`))

/** Refuses flags that need `--cluster`. Flags in the environment are ignored: they may be for other commands. */
export function needCluster(cluster: boolean, args: readonly string[], names: readonly string[]): void {
  const given = names.find((name) => isWritten(name, args))
  if (!cluster && given !== undefined) throw new UsageError(`--${given} needs --cluster`)
}
