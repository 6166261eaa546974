/** Mistakes of meaning: values that a schema takes, and that are not the ones that were meant. */

import {
  configMapReferencesOf,
  policyReferencesOf,
  referencesOf,
  secretReferencesOf,
} from '../../src/relations/index.ts'
import { holdsPlaceholder } from '../../src/documents/index.ts'
import { isObject, jsonPointer, nameKey, type Resource, type Segment } from '../../src/rule/index.ts'
import type { Class } from './classes.ts'
import type { Mistake } from './mistake.ts'
import { matcherMistakes } from './of-matchers.ts'
import { setting } from './of-form.ts'
import { fieldName, namesOf, type Site } from './site.ts'
import { hashOf, misspeltName } from './spelling.ts'
import { isPaired, standsElsewhere, type LinkedObjects, type LinkedObject } from './linked-objects.ts'

/** The mistakes in the names and texts of one object. */
export function* meaningMistakes(site: Site, linked: LinkedObjects, names: NamesIn): Generator<Mistake> {
  const { value, keys, object } = site
  if (keys[0] === 'metadata') {
    yield* ofMetadata(site, linked)
    return
  }
  if (typeof value !== 'string' || value === '' || keys[0] !== 'spec' || holdsPlaceholder(value)) return
  const reference = names.get(jsonPointer(site.at))
  if (reference !== undefined) yield* reference(site)
  else if (site.node?.enum !== undefined || site.crd?.enum !== undefined) return
  else if (PROVIDER_FIELDS.has(fieldName(site)) || isProviderName(site))
    yield* ofProvider(site, value, linked)
  else if (fieldName(site) === 'matcher') yield* matcherMistakes(site, value)
  else if (/^https?:\/\//.test(value)) yield* ofUrl(site, value, linked)
  else if (/audience|resourceUrl/i.test(fieldName(site))) yield* ofAudience(site, value, linked)
  else if (value.startsWith('arn:')) yield* ofRole(site, value)
  else if (/scopes$/i.test(fieldName(site)))
    yield setting(site, 'scope misspelt', misspeltName(value), OIDC_SCOPES.has(value) ? undefined : 'outside')
  else if (/claim(?:Name)?$/i.test(fieldName(site)) && fieldName(site) !== 'claim')
    yield setting(site, 'claim misspelt', misspeltName(value), 'outside')
  else if (/^[\d.]+(?:ns|us|µs|ms|s|m|h)$/.test(value)) return
  else
    yield setting(
      site,
      'other text',
      misspeltName(value),
      isPaired(fieldName(site)) && standsElsewhere(linked, object, fieldName(site), value)
        ? undefined
        : 'outside',
    )
}

const OIDC_SCOPES: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'offline_access'])

function* ofMetadata(site: Site, linked: LinkedObjects): Generator<Mistake> {
  const { value, keys, object } = site
  const isLinked = linked.related(object).length > 0
  if (keys[1] === 'name' && typeof value === 'string') {
    const isNamed =
      isLinked && linked.related(object).some(({ kind, value: by }) => refersTo(kind.kind, by, object))
    yield setting(site, 'own name misspelt', misspeltName(value), isNamed ? undefined : 'outside')
  }
  if (keys.length === 1) {
    const metadata = isObject(value) ? value : {}
    const change = {
      op: 'set',
      at: ['metadata'],
      value: { ...metadata, namespace: otherNamespace(object) },
    } as const
    yield {
      class: 'other namespace',
      object: object.index,
      change,
      undecidable: isLinked ? undefined : 'outside',
    }
  }
}

const otherNamespace = ({ namespace }: LinkedObject) => misspeltName(namespace)

const refersTo = (kind: string, by: Resource, { kind: to, name }: LinkedObject): boolean =>
  referencesOf(kind, by, to.kind).some((reference) => reference.to.name === name)

/** The possible mistakes in names of other objects, by the pointer to the name. */
export type NamesIn = ReadonlyMap<string, (site: Site) => Iterable<Mistake>>

export function namesIn(object: LinkedObject, linked: LinkedObjects): NamesIn {
  const { kind, value, namespace } = object
  const names = namesBeside(linked, namespace)
  const found = new Map<string, (site: Site) => Iterable<Mistake>>()
  const add = (at: readonly Segment[], of: (site: Site) => Iterable<Mistake>) =>
    found.set(jsonPointer(at), of)
  for (const { to, at } of referencesOf(kind.kind, value)) add(at(), (site) => ofReference(site, to, names))
  for (const { at } of policyReferencesOf(value))
    add(at, (site) => [setting(site, 'reference misspelt', misspeltName(String(site.value)))])
  for (const { at, name, key } of [...secretReferencesOf(value), ...configMapReferencesOf(value)]) {
    add([...at, 'name'], (site) => [setting(site, 'Secret misspelt', misspeltName(name))])
    add([...at, 'key'], (site) => [setting(site, 'Secret key misspelt', misspeltName(key))])
  }
  return found
}

/** The names of one namespace: of a kind and of the kinds beside it, and the first object of each. */
interface Names {
  /** `positions` are those in `same`. */
  of(kind: string): {
    readonly same: readonly string[]
    readonly positions: ReadonlyMap<string, number>
    readonly other: readonly string[]
  }
  object(kind: string, name: string): LinkedObject | undefined
}

const namesOfAll = new WeakMap<LinkedObjects, Map<string, Names>>()

function namesBeside(linked: LinkedObjects, namespace: string): Names {
  let all = namesOfAll.get(linked)
  if (all === undefined) {
    const spaces = Map.groupBy(linked.objects, (each) => each.namespace)
    all = new Map(Array.from(spaces, ([space, objects]) => [space, namesAmong(objects)]))
    namesOfAll.set(linked, all)
  }
  return all.get(namespace) ?? namesAmong([])
}

function namesAmong(objects: readonly LinkedObject[]): Names {
  const first = new Map<string, LinkedObject>()
  for (const each of objects) {
    const key = nameKey({ kind: each.kind.kind, name: each.name })
    if (!first.has(key)) first.set(key, each)
  }
  const known = new Map<string, ReturnType<Names['of']>>()
  return {
    of: (kind) => {
      const found = known.get(kind)
      if (found !== undefined) return found
      const same = new Set(objects.filter((each) => each.kind.kind === kind).map(({ name }) => name))
      const other = new Set(objects.map(({ name }) => name).filter((name) => !same.has(name)))
      const positions = new Map(Array.from(same, (name, i) => [name, i]))
      const made = { same: [...same], positions, other: [...other] }
      known.set(kind, made)
      return made
    },
    object: (kind, name) => first.get(nameKey({ kind, name })),
  }
}

function* ofReference(site: Site, to: { kind: string; name: string }, names: Names): Generator<Mistake> {
  const { same, positions, other: others } = names.of(to.kind)
  yield setting(site, 'reference misspelt', misspeltName(to.name, positions))
  const target = names.object(to.kind, to.name)
  const another = chosenBeside(same, positions.get(to.name), to.name)
  if (another !== undefined) {
    const there = names.object(to.kind, another)
    const isServer = (object: LinkedObject | undefined) => typeOf(object) === 'embeddedAuthServer'
    const differs = to.kind === 'MCPExternalAuthConfig' && isServer(target) !== isServer(there)
    yield setting(site, 'other object', another, differs ? undefined : 'choice')
  }
  const other = chosen(others, to.name)
  if (other !== undefined) yield setting(site, 'other kind', other)
}

const typeOf = (object: LinkedObject | undefined): unknown =>
  isObject(object?.value.spec) ? object.value.spec.type : undefined

const chosen = (names: readonly string[], salt: string): string | undefined =>
  names[hashOf(salt) % Math.max(names.length, 1)]

/** As `chosen`, without the name at a position. */
function chosenBeside(names: readonly string[], at: number | undefined, salt: string): string | undefined {
  if (at === undefined) return chosen(names, salt)
  const index = hashOf(salt) % Math.max(names.length - 1, 1)
  return names[index < at ? index : index + 1]
}

/** The fields that name an upstream provider, beside the name of the provider itself. */
const PROVIDER_FIELDS: ReadonlySet<string> = new Set([
  'subjectProviderName',
  'subjectTokenProviderName',
  'providerName',
  'primaryUpstreamProvider',
  'defaultUpstreams',
])

const isProviderName = (site: Site): boolean => namesOf(site).slice(-2).join('.') === 'upstreamProviders.name'

function* ofProvider(site: Site, value: string, linked: LinkedObjects): Generator<Mistake> {
  const servers = linked.providers(site.object)
  const known = servers.find((names) => names.includes(value))
  const isReferred = isProviderName(site)
    ? standsElsewhere(linked, site.object, fieldName(site), value)
    : known !== undefined
  yield setting(
    site,
    'provider misspelt',
    misspeltName(value, new Set(known)),
    isReferred ? undefined : 'outside',
  )
  const others = (known ?? []).filter((name) => name !== value)
  const other = chosen(others, value)
  if (other === undefined) return
  yield setting(site, 'other provider', other, isProviderName(site) ? undefined : 'choice')
}

/** The issuers of our own authorization servers, whose form the specification gives. */
const OWN_ISSUERS: ReadonlySet<string> = new Set(['authServerConfig.issuer', 'embeddedAuthServer.issuer'])

function* ofUrl(site: Site, value: string, linked: LinkedObjects): Generator<Mistake> {
  const field = fieldName(site)
  const isIssuer = /^issuer(?:Url|Ref)?$/.test(field)
  const isOwn = OWN_ISSUERS.has(namesOf(site).slice(-2).join('.'))
  const isAudience = /audience|resourceUrl/i.test(field)
  const elsewhere = standsElsewhere(linked, site.object, fieldName(site), value)
  const why = elsewhere && (isIssuer || isAudience) ? undefined : 'outside'
  const host: Class = isIssuer ? 'other issuer' : isAudience ? 'other audience' : 'other host'
  yield setting(site, host, atOtherHost(value), why)
  if (isIssuer || isAudience) {
    const slashed = value.endsWith('/') ? value.slice(0, -1) : `${value}/`
    const slash: Class = isIssuer ? 'issuer with slash' : 'other audience'
    yield setting(site, slash, slashed, isOwn ? undefined : why)
  }
  if (value.startsWith('https:')) {
    // An audience is compared and never opened.
    const isOpened = !/audience/i.test(field)
    yield setting(site, 'plain http', value.replace('https:', 'http:'), isOpened ? undefined : why)
  }
}

/** The same URL with a letter of its host left out. */
const atOtherHost = (url: string): string =>
  url.replace(/^(https?:\/\/)([^/:.]+)/, (_, start: string, host: string) => start + misspeltName(host))

function* ofAudience(site: Site, value: string, linked: LinkedObjects): Generator<Mistake> {
  const why = standsElsewhere(linked, site.object, fieldName(site), value) ? undefined : 'outside'
  yield setting(site, 'other audience', misspeltName(value), why)
}

function* ofRole(site: Site, value: string): Generator<Mistake> {
  const other = value.replace(/(\d)(\d)(?=:role\/)/, (_, a: string, b: string) =>
    a === b ? `${a}${(Number(b) + 1) % 10}` : b + a,
  )
  if (other !== value) yield setting(site, 'other account', other, 'choice')
  yield setting(site, 'other text', value + 's', 'outside')
}
