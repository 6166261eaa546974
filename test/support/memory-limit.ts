import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'

/** A memory cgroup with a limit: the kernel kills its processes when they exceed the limit. */
export interface MemoryLimit {
  /** Calls `start` inside the cgroup: processes that it spawns synchronously stay in the cgroup. */
  enter<T>(start: () => T): T
  /** Whether the kernel has killed a process of the cgroup. */
  killed(): boolean
  remove(): void
}

interface Files {
  readonly root: string
  readonly limit: string
  /** The file that has a line `oom_kill N`. */
  readonly events: string
}

const VERSIONS: readonly Files[] = [
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes', events: 'memory.oom_control' },
  { root: '/sys/fs/cgroup', limit: 'memory.max', events: 'memory.events' },
]

/** Creates a cgroup (version 1 or 2) with the limit; undefined when the user may not. */
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

/** The folder of this process's own cgroup. */
function ownGroup(root: string): string {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').split('\n')
  const line = lines.find((each) => each.split(':')[1] === (root.endsWith('memory') ? 'memory' : ''))
  return root + (line?.slice(line.indexOf(':/') + 1) ?? '')
}
