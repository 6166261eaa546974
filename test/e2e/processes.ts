import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Binaries } from './find-binaries.ts'

/** The programs, folder, ports and flags of the servers. */
export interface Place {
  readonly binaries: Binaries
  readonly folder: string
  readonly etcdPort: number
  readonly port: number
  readonly token: string
  /** Additional flags of kube-apiserver. */
  readonly flags: readonly string[]
}

type Name = 'etcd' | 'kube-apiserver'
/** The two server processes, and a guard process that kills them when this process ends. */
export class Servers {
  readonly #place: Place
  readonly #guard: ChildProcess
  readonly #running = new Map<Name, ChildProcess>()

  constructor(place: Place) {
    this.#place = place
    this.#guard = startGuard(place.folder)
  }

  /** Starts a server; its output is appended to its log file. */
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

  /** The server that has ended without being stopped, if any. */
  ended(): Name | undefined {
    return [...this.#running].find(([, child]) => hasEnded(child))?.[0]
  }

  /** Kills a server and resolves when it has ended. */
  async kill(name: Name): Promise<void> {
    const child = this.#running.get(name)
    this.#running.delete(name)
    if (child && !hasEnded(child)) await killAndWait(child)
    this.#tellGuard()
  }

  /** Kills both servers and lets the guard delete the folder. */
  async stop(): Promise<void> {
    await this.#killBoth()
    if (hasEnded(this.#guard)) return
    this.#guard.ref()
    this.#guard.stdin?.end()
    await once(this.#guard, 'exit')
  }

  /** Kills both servers and the guard, and keeps the logs. */
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
 * Starts a shell that reads lines of process ids from this process. When the pipe closes, because this process has
 * ended (even by SIGKILL), it kills the processes of the last line and deletes `folder`.
 */
function startGuard(folder: string): ChildProcess {
  const script =
    'while read -r line; do pids=$line; done; kill -9 $pids; rm -rf -- "$0" || { sleep 1; rm -rf -- "$0"; }'
  const guard = spawn('sh', ['-c', script, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  guard.unref()
  if (guard.stdin instanceof Socket) guard.stdin.unref()
  return guard
}

/** Kills `child` and resolves when it has ended. */
async function killAndWait(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.ref()
  child.kill('SIGKILL')
  await gone
}

/** Whether `child` has ended or was never started. */
function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

/** The arguments of etcd: without fsync, because the data need not survive the test. */
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

/** The arguments of kube-apiserver: RBAC, one administrator with a token, and no service account admission. */
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
 * The environment of the child processes: the PATH and a home folder of their own; no proxy, no ETCD_ and KUBE
 * variables. Go programs collect no garbage below 1 GiB (GOGC and GOMEMLIMIT), because they live for seconds and the
 * collector took a third of the CPU time of their start.
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

/** The log file of a server. */
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
