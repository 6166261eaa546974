import { plansOf } from '../../src/access/effective-authentication.ts'
import { decideRole } from '../../src/access/role/decide.ts'
import { GENERATIONS } from '../../src/kinds/mcp-external-auth-config/generations.ts'
import { bounded, evaluateMatcher, LIMITS } from '../../src/access/role/matcher.ts'
import { fromJson } from '../../src/cel/evaluate/values.ts'
import {
  authServer,
  backend,
  bearerConfig,
  exchangeConfig,
  gatewayOf,
  group,
  headerConfig,
  injectConfig,
  inline,
  oidcConfig,
  otherOf,
  serverConfig,
} from '../../src/relations/examples.ts'
import { API_VERSION, DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import type { ClusterState } from '../../src/state/cluster-state.ts'
import { withChanges } from '../../src/engine/defaults.ts'
import { findingText } from '../../src/rule/finding.ts'
import { asApplied, stateOf } from '../../src/documents/given-objects.ts'
import { submissionOf } from '../../src/engine/index.ts'
import { judgeOf } from './review.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/engine/settings.ts'
import type { Other } from '../../src/rule/rule.ts'
import type { Question, StepsPlan } from '../../src/steps/plan.ts'
import { itemsOf } from '../../src/steps/states.ts'
import { randomNumbers } from '../../src/access/difference/random-numbers.ts'

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec?: unknown
}

export interface StatePair {
  readonly old: readonly Manifest[]
  readonly new: readonly Manifest[]
}

const PROVIDERS = ['okta', 'github', 'entra'] as const
const ISSUERS = ['https://auth.example.com', 'https://login.example.com'] as const
const NAMES = ['a', 'b', 'c', 'd'] as const
const SOME_ROLES = ['reader', 'writer', 'admin'] as const
const SOME_GROUPS = ['staff', 'admins', 'robots'] as const

/** Random pairs of valid cluster states with 3 to 12 objects that refer to each other. */
export class RandomStates {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomNumbers(seed)
  }

  pair(namespace = 'default'): StatePair {
    for (;;) {
      const old = this.#objects()
      const now = this.#next(old)
      const pair = { old: placed(old, namespace), new: placed(now, namespace) }
      const count = new Set([...old, ...now].map(({ kind, metadata }) => `${kind}/${metadata.name}`)).size
      const isSame = JSON.stringify(pair.old) === JSON.stringify(pair.new)
      if (count >= 3 && count <= 12 && !isSame && isValid(pair.old) && isValid(pair.new)) return pair
    }
  }

  /**
   * A pair in which two backends exchange their configurations, which also change: mostly no order of writes is
   * harmless. At most five objects change.
   */
  exchange(namespace = 'default'): StatePair {
    const side = (configs: readonly string[], others: readonly Other[]) =>
      placed(
        [
          ...others,
          ...NAMES.slice(0, 2).map((name) => this.#config(name)),
          ...configs.map((config, i) => backend(NAMES[i] ?? '', config, kinds[i])),
        ],
        namespace,
      )
    const kinds = NAMES.map(() => this.#pick(['MCPServer', 'MCPRemoteProxy', 'MCPServerEntry']))
    for (;;) {
      const fixed = [group(), this.#oidc('corporate'), this.#oidc('other')]
      const server = this.#gateway('one', ['tools'])
      const old = side(['a', 'b'], [...fixed, server])
      const now = side(['b', 'a'], [...fixed, this.#chance(0.7) ? server : this.#gateway('one', ['tools'])])
      if (isValid(old) && isValid(now)) return { old, new: now }
    }
  }

  #chance(of: number): boolean {
    return this.#random() < of
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#random() * choices.length)] as T
  }

  #some<T>(choices: readonly T[], share: number): T[] {
    return choices.filter(() => this.#chance(share))
  }

  #shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, key: this.#random() }))
      .toSorted((a, b) => a.key - b.key)
      .map(({ item }) => item)
  }

  #objects(): Other[] {
    const groups = this.#chance(0.2) ? ['tools', 'shop'] : ['tools']
    return [
      ...groups.map((name) => group(name)),
      ...this.#some(['corporate', 'other'], 0.7).map((name) => this.#oidc(name)),
      ...this.#some(NAMES, 0.5).map((name) => this.#config(name)),
      ...this.#some(NAMES, 0.45).map((name) => this.#workload(name, groups)),
      ...this.#some(['one', 'two'], 0.75).map((name) => this.#gateway(name, groups)),
    ]
  }

  /** The objects with some replaced by others of the same name, some removed and some added. */
  #edited(objects: readonly Other[]): Other[] {
    const groups = ['tools', 'shop']
    const names = new Set(objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`))
    const kept = objects.flatMap((object) => {
      const name = object.metadata.name
      if (this.#chance(0.1) && object.kind !== 'MCPGroup') return []
      if (this.#chance(0.5)) return [object]
      if (object.kind === 'MCPOIDCConfig') return [this.#oidc(name)]
      if (object.kind === 'MCPExternalAuthConfig') return [this.#config(name)]
      if (object.kind === 'VirtualMCPServer') return [this.#gateway(name, groups.slice(0, 1))]
      return object.kind === 'MCPGroup' ? [object] : [this.#workload(name, groups.slice(0, 1), object.kind)]
    })
    const added = this.#chance(0.4) ? [this.#config(this.#pick(NAMES))] : []
    return [...kept, ...added.filter(({ kind, metadata }) => !names.has(`${kind}/${metadata.name}`))]
  }

  #next(old: readonly Other[]): readonly Other[] {
    const way = this.#random()
    return way < 0.15 ? this.#objects() : way < 0.35 ? this.#renamed(old) : this.#edited(old)
  }

  /**
   * The objects with an upstream provider renamed everywhere; no order of writes of whole objects does that without
   * harm.
   */
  #renamed(objects: readonly Other[]): readonly Other[] {
    const [from, to] = this.#shuffled(PROVIDERS)
    return JSON.parse(JSON.stringify(objects).replaceAll(`"${from ?? ''}"`, `"${to ?? ''}"`)) as Other[]
  }

  #oidc(name: string): Other {
    if (this.#chance(0.3))
      return otherOf('MCPOIDCConfig', name, {
        type: 'kubernetesServiceAccount',
        kubernetesServiceAccount: {},
      })
    return oidcConfig(name, this.#pick(ISSUERS))
  }

  #config(name: string): Other {
    switch (Math.floor(this.#random() * 7)) {
      case 0:
        return headerConfig(name)
      case 1:
        return bearerConfig(name)
      case 2:
        return exchangeConfig(name, this.#chance(0.5) ? this.#pick(PROVIDERS) : undefined)
      case 3:
        return this.#roles(name)
      case 4:
        return serverConfig(name, ...this.#providers())
      default:
        return injectConfig(name, this.#pick(PROVIDERS))
    }
  }

  #providers(): string[] {
    return this.#shuffled(PROVIDERS).slice(0, this.#chance(0.6) ? 1 : 2)
  }

  #roles(name: string): Other {
    const arn = (role: string) => `arn:aws:iam::123456789012:role/${role}`
    const roleMappings = this.#shuffled(SOME_GROUPS)
      .slice(0, this.#pick([1, 2]))
      .map((claim, i) => ({
        ...(this.#chance(0.5) ? { claim } : { matcher: `"${claim}" in claims.groups` }),
        roleArn: arn(this.#pick(SOME_ROLES)),
        priority: i,
      }))
    const awsSts = {
      region: 'eu-central-1',
      roleClaim: 'groups',
      roleMappings,
      ...(this.#chance(0.5) && { fallbackRoleArn: arn(this.#pick(SOME_ROLES)) }),
    }
    return { kind: 'MCPExternalAuthConfig', metadata: { name }, spec: { type: 'awsSts', awsSts } }
  }

  #workload(
    name: string,
    groups: readonly string[],
    kind = this.#pick(['MCPServer', 'MCPRemoteProxy', 'MCPServerEntry']),
  ): Other {
    const config = this.#chance(0.85) ? this.#pick(NAMES) : undefined
    const { spec, ...rest } = backend(name, config, kind)
    const isAlone = kind !== 'MCPServerEntry' && this.#chance(0.25)
    const oidcConfigRef = { name: this.#pick(['corporate', 'other']), audience: name }
    return {
      ...rest,
      spec: {
        ...(spec as object),
        groupRef: isAlone ? undefined : { name: this.#pick(groups) },
        ...(isAlone && (config === undefined || this.#chance(0.5)) && { oidcConfigRef }),
      },
    }
  }

  #gateway(name: string, groups: readonly string[]): Other {
    const audience = 'https://auth.example.com/mcp'
    const listed = Object.fromEntries(this.#some(NAMES, 0.5).map((each) => [each, this.#pick(NAMES)]))
    const { spec } = gatewayOf({
      groupRef: { name: this.#pick(groups) },
      incomingAuth: this.#chance(0.1)
        ? { type: 'anonymous' }
        : {
            type: 'oidc',
            oidcConfigRef: {
              name: this.#pick(['corporate', 'corporate', 'other']),
              audience,
              resourceUrl: audience,
            },
          },
      ...(this.#chance(0.75) && {
        authServerConfig: { ...authServer(...this.#providers()), issuer: this.#pick(ISSUERS) },
      }),
      ...(Object.keys(listed).length > 0 &&
        this.#chance(0.35) && {
          outgoingAuth: inline(listed, this.#chance(0.5) ? this.#pick(NAMES) : undefined),
        }),
    })
    return { kind: 'VirtualMCPServer', metadata: { name }, spec }
  }
}

export const placed = (objects: readonly Other[], namespace: string): Manifest[] =>
  JSON.parse(
    JSON.stringify(
      objects.map(({ kind, metadata, ...rest }) => ({
        apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
        kind,
        metadata: { ...metadata, namespace },
        ...rest,
      })),
    ),
  ) as Manifest[]

export const READING = { group: DEFAULT_API_GROUP, namespace: 'default', strict: false }

const nameOf = ({ kind, metadata }: Manifest) => ({ kind, name: metadata.name })
export const keyOf = ({ kind, metadata }: Manifest): string =>
  `${kind}/${metadata.namespace}/${metadata.name}`

function errorsIn(
  object: unknown,
  oldObject: unknown,
  self: Manifest,
  state: ClusterState,
  settings = DEFAULT_SETTINGS,
): string[] {
  const { namespace } = self.metadata
  const given = {
    namespace,
    group: DEFAULT_API_GROUP,
    object,
    ...(oldObject === undefined ? {} : { oldObject }),
  }
  const submission = {
    ...submissionOf(nameOf(self), given),
    ...(object === undefined && { operation: 'DELETE' as const }),
  }
  return judgeOf({ settings, state }).admit(submission).errors.map(findingText)
}

function isValid(objects: readonly Manifest[]): boolean {
  const state = stateOf(objects, READING)
  return objects.every((object) => errorsIn(object, undefined, object, state).length === 0)
}

/** The object that the API server stores after a write, including the defaults of /mutate. */
function written(
  object: unknown,
  before: Manifest | undefined,
  self: Manifest,
  state: ClusterState,
): Manifest {
  const given = { namespace: self.metadata.namespace, group: DEFAULT_API_GROUP, object }
  const submission = submissionOf(
    nameOf(self),
    before === undefined ? given : { ...given, oldObject: before },
  )
  return withChanges(object as Manifest, judgeOf({ state }).complete(submission))
}

/** The stored objects after all of them were applied to the stored state `before`. */
export function storedState(
  objects: readonly Manifest[],
  before: ReadonlyMap<string, Manifest> = new Map(),
): Map<string, Manifest> {
  const state = stateOf(objects, READING)
  return new Map(
    objects.map((object) => {
      const applied = asApplied(object, before.get(keyOf(object)), READING)
      return [keyOf(object), written(applied, undefined, object, state)]
    }),
  )
}

export function questionOf({ old, new: now }: StatePair, more: Partial<Question> = {}): Question {
  return {
    settings: DEFAULT_SETTINGS,
    reading: READING,
    defaults: 'all',
    old: itemsOf(old, READING),
    new: itemsOf(now, READING),
    state: stateOf([...old, ...now], READING),
    isStored: false,
    isDeleted: () => true,
    ...more,
  }
}

/** What backends are sent, how callers log in and which roles they get, by the name of the backend or workload. */
export interface Observed {
  /** The credentials for each backend that gets any. */
  readonly sent: ReadonlyMap<string, { readonly what: string; readonly isMember: boolean }>
  /** By workload: how its callers log in: OPEN, IMPOSSIBLE, or its MCPOIDCConfig and audience as JSON. */
  readonly logins: ReadonlyMap<string, string>
  /** The role of each caller for each generation of operator releases. */
  readonly roles: ReadonlyMap<string, readonly string[]>
}

const OPEN = 'open'
const IMPOSSIBLE = 'impossible'

/** A caller for each subset of the groups that role mappings name. */
const CALLERS = Array.from({ length: 2 ** SOME_GROUPS.length }, (_, bits) => ({
  sub: 'ann',
  groups: SOME_GROUPS.filter((_, i) => (bits >> i) % 2 === 1),
}))

export const textOf = (value: unknown): string => JSON.stringify(sorted(value))

const HOW_FETCHED = /AllowPrivateIP$|^caBundleRef$|^insecureAllowHTTP$|^jwksAuthTokenPath$|^useClusterAuth$/

/** The spec of an MCPOIDCConfig without the fields that only say how its issuer is reached. */
const whoseTokens = (spec: unknown): unknown =>
  JSON.parse(JSON.stringify(spec, (key, value: unknown) => (HOW_FETCHED.test(key) ? undefined : value)))

interface WorkloadSpec {
  readonly oidcConfigRef?: { readonly name: string; readonly audience?: string }
  readonly externalAuthConfigRef?: { readonly name: string }
}

export function observe(objects: Iterable<Manifest>): Observed {
  const all = [...objects]
  const state = stateOf(all, READING)
  const named = (kind: string) =>
    new Map(all.filter((each) => each.kind === kind).map((each) => [each.metadata.name, each]))
  const [configs, oidcConfigs] = [named('MCPExternalAuthConfig'), named('MCPOIDCConfig')]
  const login = (oidcConfig: string | null | undefined, audience: string | null | undefined) => {
    const found = oidcConfigs.get(oidcConfig ?? '')
    return found === undefined ? IMPOSSIBLE : textOf([whoseTokens(found.spec), audience])
  }
  const sent = new Map<string, { what: string; isMember: boolean }>()
  const logins = new Map<string, string>()
  const roles = new Map<string, readonly string[]>()
  const addRoles = (who: string, config: string | null | undefined) => {
    const found = configs.get(config ?? '')
    if ((found?.spec as { type?: unknown } | undefined)?.type === 'awsSts' && found !== undefined)
      roles.set(who, rolesIn(found))
  }
  for (const { namespace, name, incoming, backends } of plansOf(state, () => false)) {
    const server = `VirtualMCPServer ${namespace}/${name}`
    const isKnown = incoming.reason === null
    logins.set(
      server,
      incoming.type === 'anonymous'
        ? OPEN
        : isKnown
          ? login(incoming.oidcConfig, incoming.audience)
          : IMPOSSIBLE,
    )
    for (const { kind, name: workload, credentials, config, type, token, provider } of backends) {
      const isMember = kind !== null
      const who = `backend ${isMember ? `${kind} ` : ''}${workload} of ${server}`
      const settings = withoutWritten(configs.get(config ?? ''))?.spec
      if (credentials === 'sent') sent.set(who, { what: textOf([type, token, provider, settings]), isMember })
      if (isMember) addRoles(who, config)
    }
  }
  for (const { kind, metadata, spec } of all) {
    if (!['MCPServer', 'MCPRemoteProxy', 'MCPServerEntry'].includes(kind)) continue
    const who = `${kind} ${metadata.namespace}/${metadata.name}`
    const { oidcConfigRef, externalAuthConfigRef } = spec as WorkloadSpec
    logins.set(who, oidcConfigRef === undefined ? OPEN : login(oidcConfigRef.name, oidcConfigRef.audience))
    addRoles(who, externalAuthConfigRef?.name)
  }
  return { sent, logins, roles }
}

const memo = new Map<string, readonly string[]>()

/** The role of each caller; an empty string when the caller gets none. */
function rolesIn(config: Manifest): readonly string[] {
  const key = JSON.stringify(config.spec)
  const known = memo.get(key)
  if (known !== undefined) return known
  const roles = GENERATIONS.flatMap((generation) =>
    CALLERS.map((claims) => {
      const evaluationOf = (matcher: string) =>
        evaluateMatcher(
          matcher,
          fromJson(claims),
          generation.celGo,
          bounded(LIMITS, Infinity, () => 0),
        )
      return decideRole(config, claims, generation, evaluationOf).role ?? ''
    }),
  )
  memo.set(key, roles)
  return roles
}

/** A harm in an intermediate state; `gives` when it gives somebody access, otherwise it takes access away. */
export interface Wrong {
  readonly text: string
  readonly gives: boolean
}

export function wrongIn(here: Observed, old: Observed, now: Observed): Wrong[] {
  return [...wrongSent(here, old, now), ...wrongLogins(here, old, now), ...wrongRoles(here, old, now)]
}

function* wrongSent(here: Observed, old: Observed, now: Observed): Iterable<Wrong> {
  for (const who of old.sent.keys())
    if (now.sent.has(who) && !here.sent.has(who))
      yield { text: `${who} is without credentials`, gives: false }
  for (const [who, { what, isMember }] of here.sent) {
    const sides = [old.sent.get(who)?.what, now.sent.get(who)?.what]
    // A key of `backends` without a workload has no backend that could receive credentials.
    if (sides.includes(what) || (!isMember && sides.includes(undefined))) continue
    yield { text: `${who} is sent other credentials than before and after`, gives: true }
  }
}

function* wrongLogins(here: Observed, old: Observed, now: Observed): Iterable<Wrong> {
  for (const who of new Set([...here.logins.keys(), ...old.logins.keys()])) {
    const [login, ...sides] = [here, old, now].map(({ logins }) => logins.get(who))
    if (login === undefined) {
      if (!sides.includes(undefined) && !sides.includes(IMPOSSIBLE))
        yield { text: `${who} is not there`, gives: false }
    } else if (login === IMPOSSIBLE) {
      if (sides.every((side) => side !== undefined && side !== OPEN && side !== IMPOSSIBLE))
        yield { text: `${who} cannot check tokens`, gives: false }
    } else if (!sides.includes(login) && !sides.includes(OPEN))
      yield {
        text: `${who} ${login === OPEN ? 'lets everybody in' : 'takes other tokens than before and after'}`,
        gives: true,
      }
  }
}

function* wrongRoles(here: Observed, old: Observed, now: Observed): Iterable<Wrong> {
  for (const [who, roles] of here.roles) {
    const [before, after] = [old.roles.get(who), now.roles.get(who)]
    if (roles.some((role, i) => role !== '' && role !== before?.[i] && role !== after?.[i]))
      yield { text: `callers of ${who} get a role that they have neither before nor after`, gives: true }
  }
}

/** The object that the API server stores for a write (undefined: a deletion), or the refusal of the webhook. */
export function writeOf(
  value: unknown,
  before: Manifest | undefined,
  self: Manifest,
  state: ClusterState,
  settings = DEFAULT_SETTINGS,
): { readonly stored: Manifest | undefined } | { readonly refusal: string } {
  const isNamed = (value as { spec?: { tokenExchange?: { subjectProviderName?: string } } } | undefined)?.spec
    ?.tokenExchange?.subjectProviderName
  const object = isNamed !== undefined ? value : asApplied(value, before, READING)
  const [refusal] = errorsIn(object, before, self, state, settings)
  if (refusal !== undefined) return { refusal }
  if (value === undefined) return { stored: undefined }
  return { stored: written(object, before, self, state) }
}

/** The harms that the plan announces for the state after a step. */
const saidAfter = ({ givenUp }: StepsPlan, step: number): string[] =>
  givenUp
    .filter(({ after, until }) => after <= step && (step < until || after === until))
    .map(({ text }) => text)

/** Verifies every step of a plan; returns the first mistake. */
export function checkSteps(pair: StatePair, plan: StepsPlan, settings?: Settings): string | undefined {
  const stored = storedState(pair.old)
  const wantedAtEnd = storedState(pair.new, stored)
  const [old, end] = [observe(stored.values()), observe(wantedAtEnd.values())]
  for (const { number, verb, kind, namespace, name, value } of plan.steps) {
    const self = { apiVersion: '', kind, metadata: { name, namespace } }
    const key = keyOf(self)
    const before = stored.get(key)
    if ((before === undefined) !== (verb === 'create')) return `step ${number} is not a ${verb}`
    const state = stateOf([...stored.values()], READING)
    const result = writeOf(verb === 'delete' ? undefined : value, before, self, state, settings)
    if ('refusal' in result) return `step ${number}: ${kind} ${name} is refused: ${result.refusal}`
    if (result.stored === undefined) stored.delete(key)
    else stored.set(key, result.stored)
    const seen = wrongIn(observe(stored.values()), old, end).map(({ text }) => text)
    const said = saidAfter(plan, number)
    if (seen.toSorted().join() !== said.toSorted().join())
      return `after step ${number}: seen ${seen.join()}, said ${said.join()}`
  }
  const last = new Map(pair.new.map((object) => [keyOf(object), object]))
  const left = [...stored.keys()].filter((key) => !last.has(key))
  if (left.length > 0) return `${left.join()} is left`
  for (const [key, object] of last) {
    const there = withoutWritten(stored.get(key))
    const wanted = withoutWritten(wantedAtEnd.get(key))
    if (JSON.stringify(sorted(there?.spec)) !== JSON.stringify(sorted(wanted?.spec)))
      return `${key} is not the new one: ${JSON.stringify([there?.spec, object.spec])}`
  }
  return undefined
}

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .map(([key, each]) => [key, sorted(each)] as const)
            .toSorted(([a], [b]) => (a < b ? -1 : 1)),
        )
      : value

/** The object without the provider that /mutate writes, which depends on the state at the time of the write. */
const withoutWritten = (object: Manifest | undefined): Manifest | undefined =>
  object === undefined
    ? undefined
    : (JSON.parse(
        JSON.stringify(object, (key, value: unknown) => (key === 'subjectProviderName' ? undefined : value)),
      ) as Manifest)
