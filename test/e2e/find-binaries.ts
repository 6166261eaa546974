import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The paths of the three programs. */
export interface Binaries {
  readonly etcd: string
  readonly apiServer: string
  readonly kubectl: string
}

/**
 * Finds etcd, kube-apiserver and kubectl in the folder $KUBEBUILDER_ASSETS if it is set (kubectl may also be on the
 * PATH), and otherwise on the PATH. If one is missing, `missing` is a line that says where each was searched and how to
 * get it.
 */
export function findBinaries(): Binaries | { readonly missing: string } {
  const assets = process.env.KUBEBUILDER_ASSETS
  const path = (process.env.PATH ?? '').split(delimiter)
  const folders = assets ? [assets] : path
  const etcd = findProgram('etcd', folders)
  const apiServer = findProgram('kube-apiserver', folders)
  const kubectl = findProgram('kubectl', assets ? [assets, ...path] : path)
  if (etcd && apiServer && kubectl) return { etcd, apiServer, kubectl }
  const found = { etcd, 'kube-apiserver': apiServer, kubectl }
  const missing = Object.entries(found).flatMap(([name, file]) => (file ? [] : [name]))
  const where = assets ? `in KUBEBUILDER_ASSETS (${assets})` : 'on the PATH (KUBEBUILDER_ASSETS is not set)'
  return {
    missing:
      `no ${missing.join(', no ')} ${where}; get them with ` +
      'export KUBEBUILDER_ASSETS=$(test/e2e/binaries/build.sh) or ' +
      'export KUBEBUILDER_ASSETS=$(setup-envtest use -p path)',
  }
}

/** The path of the first file called `name` in `folders`, if there is one. */
function findProgram(name: string, folders: readonly string[]): string | undefined {
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}
