import type { Opened } from '../../input/live/index.ts'
import { errorMessage } from '../../../rule/index.ts'

/** `problem`: wrong; `note`: worth knowing; `unread`: could not be read or checked. */
export type Level = 'problem' | 'note' | 'unread'

export interface DoctorFinding {
  readonly level: Level
  readonly id: string
  /** Kind and name, as kubectl prints them. */
  readonly object: string
  readonly message: string
  /** What the user can do; empty when there is nothing to do. */
  readonly remedy: string
}

/** What every check gets: access to the cluster, and which installation to check. */
export interface CheckedInstallation {
  readonly opened: Pick<Opened, 'installation' | 'registrations' | 'clockOffset'>
  readonly group: string
  readonly namespace: string
  readonly service: string
  /** The present time by the clock of the API server, in Unix milliseconds: it judges certificates by that. */
  readonly now: () => number
  /** Milliseconds to wait for the renewal of a Lease. */
  readonly leaseWaitMs: number
}

/** The findings of one check, in the order in which they were found. */
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

/** The value at these keys of a JSON value; undefined when there is none. */
export function part(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (holder, key) => (typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined),
    value,
  )
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const textsOf = (value: unknown): string[] =>
  listOf(value).filter((each): each is string => typeof each === 'string')
