import { compareText, deepEqual } from '../rule/index.ts'
import type { AuthServer, Incoming } from './incoming.ts'
import type { Outgoing } from './outgoing.ts'
import type { Group, Plan } from './effective-authentication.ts'

/** An item, such as a backend, before and after a change; null before it is added, and after it is removed. */
export interface PlanDifference<T> {
  readonly old: T | null
  readonly new: T | null
}

/** The changes of the authentication at one VirtualMCPServer; a field is null when it stays the same. */
export interface GatewayChange {
  readonly namespace: string
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
  readonly group: PlanDifference<Group> | null
  readonly incoming: PlanDifference<Incoming> | null
  readonly authServer: PlanDifference<AuthServer> | null
  /** The backends whose authentication changes. */
  readonly backends: readonly BackendChange[]
}

export interface BackendChange extends PlanDifference<Outgoing> {
  readonly kind: string | null
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
}

/** The VirtualMCPServers whose effective authentication differs between two states, sorted by namespace and name. */
export function compare(before: readonly Plan[], after: readonly Plan[]): GatewayChange[] {
  return paired(before, after, ({ namespace, name }) => JSON.stringify([namespace, name]))
    .map(([old, now]) => changeOf(old, now))
    .filter((change) => change !== undefined)
    .toSorted((a, b) => compareText(a.namespace, b.namespace) || compareText(a.name, b.name))
}

/** Pairs the items of two lists that have the same key; undefined where a list has no item with the key. */
function paired<T>(before: readonly T[], after: readonly T[], keyOf: (item: T) => string): Pair<T>[] {
  const old = new Map(before.map((item) => [keyOf(item), item]))
  const now = new Map(after.map((item) => [keyOf(item), item]))
  return [...new Set([...now.keys(), ...old.keys()])].map((key) => [old.get(key), now.get(key)])
}

type Pair<T> = readonly [T | undefined, T | undefined]

function changeOf(old: Plan | undefined, now: Plan | undefined): GatewayChange | undefined {
  const either = now ?? old
  if (either === undefined) return undefined
  const { namespace, name } = either
  const differences = {
    group: difference(old?.group, now?.group, ({ name }) => name),
    incoming: difference(old?.incoming, now?.incoming, ({ summary }) => summary),
    authServer: difference(old?.authServer, now?.authServer, ({ summary }) => summary),
    backends: backendChanges(old?.backends ?? [], now?.backends ?? []),
  }
  const { group, incoming, authServer, backends } = differences
  if (group === null && incoming === null && authServer === null && backends.length === 0) return undefined
  return { namespace, name, change: verb(old, now), ...differences }
}

function backendChanges(before: readonly Outgoing[], after: readonly Outgoing[]): BackendChange[] {
  return paired(before, after, ({ kind, name }) => JSON.stringify([kind, name])).flatMap(([old, now]) => {
    const either = now ?? old
    const found = difference(old, now, (outgoing) => outgoing)
    if (either === undefined || found === null) return []
    return [{ kind: either.kind, name: either.name, change: verb(old, now), ...found }]
  })
}

const verb = (old: unknown, now: unknown) =>
  old === undefined ? 'added' : now === undefined ? 'removed' : 'changed'

/** The change from the old to the new value; null when the fields that are compared are equal in both values. */
function difference<T>(
  old: T | null = null,
  now: T | null = null,
  counted: (side: T) => unknown,
): PlanDifference<T> | null {
  const same = old === null || now === null ? old === now : deepEqual(counted(old), counted(now))
  return same ? null : { old, new: now }
}

/** Describes the authentication of a backend before and after a change, with enough details to show the difference. */
export function sidesOf({ old, new: now }: PlanDifference<Outgoing>): readonly [string, string] {
  const [before, after] = [old?.summary ?? '', now?.summary ?? '']
  if (old === null || now === null) return [before, after]
  const [oldRoles, newRoles] = roleSides(old.roles ?? [], now.roles ?? [])
  if (before !== after || oldRoles !== newRoles) return [before + oldRoles, after + newRoles]
  const differing = DETAILS.filter(([field]) => old[field] !== now[field])
  const inWords = (side: Outgoing) =>
    differing.map(([field, word]) => `${word} ${side[field] ?? 'none'}`).join(', ')
  return differing.length === 0
    ? [before, after]
    : [`${before} [${inWords(old)}]`, `${after} [${inWords(now)}]`]
}

/** The most roles that the description of a backend before a change, or after it, lists. */
const MOST_ROLES = 3
const LONGEST_ROLE = 160

/**
 * Lists the roles (with conditions) that a change removes, and those that it adds; the old and the new roles if only
 * their order changes.
 */
function roleSides(old: readonly string[], now: readonly string[]): readonly [string, string] {
  if (deepEqual(old, now)) return ['', '']
  const [before, after] = [new Set(old), new Set(now)]
  const lost = old.filter((each) => !after.has(each))
  const gained = now.filter((each) => !before.has(each))
  const isOrder = lost.length + gained.length === 0
  return [rolesText(isOrder ? old : lost), rolesText(isOrder ? now : gained)]
}

function rolesText(roles: readonly string[]): string {
  const shown = roles
    .slice(0, MOST_ROLES)
    .map((text) => (text.length > LONGEST_ROLE ? `${text.slice(0, LONGEST_ROLE).toWellFormed()}…` : text))
  const rest = roles.length - shown.length
  return shown.length === 0 ? '' : ` [${[...shown, ...(rest === 0 ? [] : [`${rest} more`])].join('; ')}]`
}

/** Fields that describe a changed backend whose summary stays the same, each with its word in the output. */
const DETAILS = [
  ['config', 'MCPExternalAuthConfig'],
  ['source', 'source'],
  ['chosen', 'provider'],
] as const
