import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Binaries } from './find-binaries.ts'

/** What starting and calling the servers needs to know. */
export interface Place {
  readonly binaries: Binaries
  readonly folder: string
  readonly etcdPort: number
  readonly port: number
  readonly token: string
  /** More flags of kube-apiserver. */
  readonly flags: readonly string[]
}

type Name = 'etcd' | 'kube-apiserver'
/** The two child processes, and a guard that kills them when this process is gone. */
export class Servers {
  readonly #place: Place
  readonly #guard: ChildProcess
  readonly #running = new Map<Name, ChildProcess>()

  constructor(place: Place) {
    this.#place = place
    this.#guard = startGuard(place.folder)
  }

  /** Starts the server `name`; its output is appended to its log. */
  start(name: Name): void {
    const { folder, binaries } = this.#place
    const log = openSync(logFile(folder, name), 'a')
    const [file, args] =
      name === 'etcd'
        ? [binaries.etcd, etcdArguments(this.#place)]
        : [binaries.apiServer, apiServerArguments(this.#place)]
    const child = spawn(file, args, { cwd: folder, env: environment(folder), stdio: ['ignore', log, log] })
    closeSync(log)
    child.once('error', (error) => appendFileSync(logFile(folder, name), `${error.message}\n`))
    child.unref()
    this.#running.set(name, child)
    this.#tellGuard()
  }

  /** The server that ended by itself, if one did. */
  ended(): Name | undefined {
    return [...this.#running].find(([, child]) => hasEnded(child))?.[0]
  }

  /** Kills the server `name` and resolves when it is gone. */
  async kill(name: Name): Promise<void> {
    const child = this.#running.get(name)
    this.#running.delete(name)
    if (child && !hasEnded(child)) await killAndWait(child)
    this.#tellGuard()
  }

  /** Kills both and lets the guard remove the folder. */
  async stop(): Promise<void> {
    await this.#killBoth()
    if (hasEnded(this.#guard)) return
    this.#guard.ref()
    this.#guard.stdin?.end()
    await once(this.#guard, 'exit')
  }

  /** Kills both and the guard; the logs stay. */
  async abandon(): Promise<void> {
    await this.#killBoth()
    await killAndWait(this.#guard)
    rmSync(join(this.#place.folder, 'etcd'), { recursive: true, force: true })
  }

  async #killBoth(): Promise<void> {
    await this.kill('kube-apiserver')
    await this.kill('etcd')
  }

  #tellGuard(): void {
    const pids = [...this.#running.values()].flatMap((child) => child.pid ?? [])
    if (this.#guard.stdin?.writable) this.#guard.stdin.write(`${pids.join(' ')}\n`)
  }
}

/**
 * Starts a shell that reads lines of process ids from this process and, when the pipe closes (this
 * process ended, even by SIGKILL), kills those of the last line and removes `folder`.
 */
function startGuard(folder: string): ChildProcess {
  const script =
    'while read -r line; do pids=$line; done; kill -9 $pids; rm -rf -- "$0" || { sleep 1; rm -rf -- "$0"; }'
  const guard = spawn('sh', ['-c', script, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  guard.unref()
  if (guard.stdin instanceof Socket) guard.stdin.unref()
  return guard
}

/** Kills `child` and resolves when it is gone. */
async function killAndWait(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.ref()
  child.kill('SIGKILL')
  await gone
}

/** Whether `child` is gone, or never ran. */
function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

/** etcd's command line: no fsync, since nothing outlives the tests. */
function etcdArguments({ folder, etcdPort }: Place): string[] {
  const url = `http://127.0.0.1:${etcdPort}`
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync',
    '--log-level=warn',
  ]
}

/** kube-apiserver's command line: RBAC, one administrator with a token, no service account admission. */
function apiServerArguments({ folder, etcdPort, port, flags }: Place): string[] {
  const given = new Set(flags.map(nameOfFlag))
  const ours = [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--cert-dir=${join(folder, 'certificates')}`,
    `--token-auth-file=${join(folder, 'tokens')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(folder, 'service-account.pub')}`,
    `--service-account-signing-key-file=${join(folder, 'service-account.key')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--disable-admission-plugins=ServiceAccount',
  ]
  return [...ours.filter((flag) => !given.has(nameOfFlag(flag))), ...flags]
}

const nameOfFlag = (flag: string) => flag.replace(/=.*/, '')

/**
 * The environment of every child: the PATH, and a home of its own; no proxy, no ETCD_ or KUBE variable. Programs in Go
 * collect no garbage below 1 GiB: they live for seconds, and a third of the CPU time of their start was the collector's.
 */
export function environment(folder: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: join(folder, 'home'),
    TMPDIR: folder,
    GOGC: 'off',
    GOMEMLIMIT: '1GiB',
  }
}

/** Where the output of the server `name` goes. */
function logFile(folder: string, name: Name): string {
  return join(folder, `${name}.log`)
}

/** The last lines of both logs. */
export function logTails(folder: string): string {
  const names: Name[] = ['etcd', 'kube-apiserver']
  const tails = names.map((name) => {
    const file = logFile(folder, name)
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-15) : []
    return `--- the end of ${file}\n${lines.join('\n')}`
  })
  return tails.join('\n')
}
