import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Cluster, KubeConfig } from '@kubernetes/client-node'
import { LineCounter, parseDocument } from 'yaml'
import { isObject } from '../rule/index.ts'

/**
 * Parses a kubeconfig; an empty text gives an empty object. Messages of the YAML library are not used, because they
 * quote the text, which may be a token.
 */
export function parseKubeconfig(text: string): Record<string, unknown> {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { prettyErrors: false, lineCounter })
  const [error] = document.errors
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0])
    throw new Error(`no YAML at line ${line}, column ${col}`)
  }
  const content: unknown = document.toJS() ?? {}
  if (!isObject(content)) throw new Error('must be a map with clusters, contexts and users')
  return content
}

/**
 * The user entry of a kubeconfig, completed with settings that the client library does not handle: `tokenFile`, and
 * an `exec` command with a path relative to the folder of the kubeconfig.
 */
export function completed(entry: unknown, folder: string): unknown {
  if (!isObject(entry) || !isObject(entry.user)) return entry
  const { tokenFile, exec } = entry.user
  const user = { ...entry.user }
  if (typeof tokenFile === 'string')
    user['auth-provider'] = { name: 'tokenFile', config: { tokenFile: resolve(folder, tokenFile) } }
  if (isObject(exec) && typeof exec.command === 'string' && /[/\\]/.test(exec.command))
    user.exec = { ...exec, command: resolve(folder, exec.command) }
  return { ...entry, user }
}

type Content = Pick<KubeConfig, 'clusters' | 'users' | 'contexts' | 'currentContext'>

/**
 * Merges kubeconfigs as client-go does: the first of several entries with the same name is used, and the first of
 * several current contexts. The JavaScript client would refuse such entries, and use the last current context.
 */
export function merged(configs: readonly Content[]): Content {
  const all = <T extends { readonly name: string }>(entriesOf: (config: Content) => T[]): T[] => {
    const entries = configs.flatMap(entriesOf)
    return [...new Map(entries.toReversed().map((entry) => [entry.name, entry])).values()]
  }
  return {
    clusters: all(({ clusters }) => clusters),
    users: all(({ users }) => users),
    contexts: all(({ contexts }) => contexts),
    currentContext: configs.find(({ currentContext }) => currentContext)?.currentContext ?? '',
  }
}

/** Throws an Error, as kubectl does, when a single kubeconfig file has two entries with the same name. */
export function checkNames({ clusters, users, contexts }: Content): void {
  for (const [noun, entries] of Object.entries({ clusters, users, contexts })) {
    const names = entries.map(({ name }) => name)
    const twice = names.find((name, i) => names.indexOf(name) !== i)
    if (twice !== undefined) throw new Error(`there are two ${noun} '${twice}'`)
  }
}

/** Throws an Error that names a missing or contradictory setting of the kubeconfig. */
export function check(config: KubeConfig): void {
  const { currentContext, contexts, clusters, users } = config
  if (!currentContext) throw new Error('current-context is not set')
  const context = contexts.find(({ name }) => name === currentContext)
  if (context === undefined) throw new Error(`there is no context '${currentContext}' (current-context)`)
  const cluster = clusters.find(({ name }) => name === context.cluster)
  if (cluster === undefined)
    throw new Error(`there is no cluster '${context.cluster}' (context '${context.name}')`)
  checkServer(cluster)
  const authority = pem(cluster.caFile, cluster.caData)
  if (authority !== undefined)
    holds(
      () => new X509Certificate(authority),
      `certificate-authority of cluster '${cluster.name}' is no PEM`,
    )
  if (!context.user) return
  const user = users.find(({ name }) => name === context.user)
  if (user === undefined) throw new Error(`there is no user '${context.user}' (context '${context.name}')`)
  const cert = pem(user.certFile, user.certData)
  const key = pem(user.keyFile, user.keyData)
  if (cert !== undefined || key !== undefined)
    holds(
      () => createSecureContext({ cert, key }),
      `client-certificate and client-key of user '${user.name}' are not a certificate and its key in PEM`,
    )
}

function checkServer({ name, server, skipTLSVerify }: Cluster): void {
  const { protocol, username, password } = URL.parse(server) ?? {}
  if (protocol !== 'https:' && protocol !== 'http:')
    throw new Error(`the server of cluster '${name}' is no URL that begins with https://`)
  if (username || password) throw new Error(`the server of cluster '${name}' has credentials in its URL`)
  if (protocol === 'http:' && !skipTLSVerify)
    throw new Error(`the server of cluster '${name}' is http; that needs insecure-skip-tls-verify: true`)
}

function pem(file: string | undefined, data: string | undefined): Buffer | undefined {
  if (file) return readFileSync(file)
  return data ? Buffer.from(data, 'base64') : undefined
}

function holds(work: () => unknown, problem: string): void {
  try {
    work()
  } catch {
    throw new Error(problem)
  }
}
