import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'

/** A memory cgroup with a limit: the kernel kills a process in it that cannot do with it. */
export interface MemoryLimit {
  /** Calls `start` in the cgroup: the processes that it spawns before it returns stay there. */
  enter<T>(start: () => T): T
  /** Whether the kernel has killed a process in it. */
  killed(): boolean
  remove(): void
}

interface Files {
  readonly root: string
  readonly limit: string
  /** The file with a line `oom_kill N`. */
  readonly events: string
}

const VERSIONS: readonly Files[] = [
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes', events: 'memory.oom_control' },
  { root: '/sys/fs/cgroup', limit: 'memory.max', events: 'memory.events' },
]

/** A cgroup (version 1 or 2) with the limit; undefined where this user may not make one. */
export function memoryLimit(megabytes: number): MemoryLimit | undefined {
  for (const { root, limit, events } of VERSIONS) {
    const folder = `${root}/vmcp-admission-test-${process.pid}`
    try {
      mkdirSync(folder)
    } catch {
      continue
    }
    try {
      writeFileSync(`${folder}/${limit}`, String(megabytes * 2 ** 20))
      const own = ownGroup(root)
      return {
        enter: (start) => {
          writeFileSync(`${folder}/cgroup.procs`, String(process.pid))
          try {
            return start()
          } finally {
            writeFileSync(`${own}/cgroup.procs`, String(process.pid))
          }
        },
        killed: () => !/^oom_kill 0$/m.test(readFileSync(`${folder}/${events}`, 'utf8')),
        remove: () => rmdirSync(folder),
      }
    } catch {
      rmdirSync(folder)
    }
  }
  return undefined
}

/** The folder of the cgroup that this process is in. */
function ownGroup(root: string): string {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').split('\n')
  const line = lines.find((each) => each.split(':')[1] === (root.endsWith('memory') ? 'memory' : ''))
  return root + (line?.slice(line.indexOf(':/') + 1) ?? '')
}
