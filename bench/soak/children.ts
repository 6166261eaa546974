import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const children = new Set<ChildProcess>()

/** Starts a script of this folder as a process that sends messages. */
export function start(script: string, ...args: readonly (string | number)[]): ChildProcess {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), args.map(String))
  child.on('error', () => undefined)
  children.add(child)
  return child
}

/** The next message of a child; rejects when it ends without one. */
export async function messageOf<T>(child: ChildProcess): Promise<T> {
  const name = child.spawnargs.slice(1).join(' ')
  if (child.exitCode !== null) throw new Error(`${name} has ended`)
  const over = new AbortController()
  const { signal } = over
  const message = once(child, 'message', { signal }) as Promise<[T]>
  const exit = once(child, 'exit', { signal }).then(() => {
    throw new Error(`${name} ended`)
  })
  try {
    const [value] = await Promise.race([message, exit])
    return value
  } finally {
    over.abort()
    for (const each of [message, exit]) each.catch(() => undefined)
  }
}

/** Tells a child that it is over, and resolves with what it says at its end. */
export async function endOf<T>(child: ChildProcess): Promise<T> {
  const answer = messageOf<T>(child)
  child.send('end')
  const value = await answer
  children.delete(child)
  return value
}

export function killAll(): void {
  for (const child of children) child.kill('SIGKILL')
}
