import type { Opened } from '../../input/live/index.ts'
import { errorMessage } from '../../../rule/index.ts'

/** `problem`: something is wrong; `note`: worth knowing; `unread`: could not be read or checked. */
export type Level = 'problem' | 'note' | 'unread'

export interface DoctorFinding {
  readonly level: Level
  readonly id: string
  /** Kind and name of the examined object, as kubectl prints them. */
  readonly object: string
  readonly message: string
  /** A command or advice for the user; empty when nothing needs to be done. */
  readonly remedy: string
}

/** The input of every check of `doctor`: access to the cluster, and the installation to check. */
export interface CheckedInstallation {
  readonly opened: Pick<Opened, 'installation' | 'registrations' | 'clockOffset'>
  readonly group: string
  readonly namespace: string
  readonly service: string
  /**
   * Returns the current time in Unix milliseconds, by the clock of the API server, which checks certificates by this
   * clock.
   */
  readonly now: () => number
  /** How long to wait for the holder of a Lease to renew it, in milliseconds. */
  readonly leaseWaitMs: number
}

/** The findings of one check, in the order in which they were added. */
export class Findings {
  readonly found: DoctorFinding[] = []

  problem(id: string, object: string, message: string, remedy: string): void {
    this.found.push({ level: 'problem', id, object, message, remedy })
  }

  note(id: string, object: string, message: string, remedy = ''): void {
    this.found.push({ level: 'note', id, object, message, remedy })
  }

  /** Reads an object; when that fails, adds a finding and returns `UNREAD`. */
  async read<T>(object: string, reading: () => Promise<T>): Promise<T | typeof UNREAD> {
    try {
      return await reading()
    } catch (error) {
      this.unread(object, error)
      return UNREAD
    }
  }

  unread(object: string, error: unknown): void {
    const message = errorMessage(error)
    const remedy = message.startsWith('403 ') ? 'run doctor as a user who has this right' : ''
    this.found.push({ level: 'unread', id: 'unread', object, message, remedy })
  }
}

export const UNREAD = Symbol('could not be read')

/** The part of a JSON value at these keys; undefined when it does not exist. */
export function part(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (holder, key) => (typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined),
    value,
  )
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const textsOf = (value: unknown): string[] =>
  listOf(value).filter((each): each is string => typeof each === 'string')
