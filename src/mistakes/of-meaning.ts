/** Mistakes of meaning: values that a schema takes, and that are not the ones that were meant. */

import { configMapReferencesOf } from '../kinds/between/config-maps.ts'
import { policyReferencesOf } from '../kinds/between/policy-kinds.ts'
import { referencesOf } from '../kinds/between/references.ts'
import { secretReferencesOf } from '../kinds/between/secrets.ts'
import { holdsPlaceholder } from '../review/placeholder.ts'
import { jsonPointer, type Segment } from '../rule/path.ts'
import { isObject, type Resource } from '../rule/resource.ts'
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

/** What can be wrong with the names of other objects, by the pointer to the name. */
export type NamesIn = ReadonlyMap<string, (site: Site) => Iterable<Mistake>>

export function namesIn(object: LinkedObject, linked: LinkedObjects): NamesIn {
  const { kind, value, namespace } = object
  const others = linked.objects.filter((each) => each.namespace === namespace)
  const found = new Map<string, (site: Site) => Iterable<Mistake>>()
  const add = (at: readonly Segment[], of: (site: Site) => Iterable<Mistake>) =>
    found.set(jsonPointer(at), of)
  for (const { to, at } of referencesOf(kind.kind, value)) add(at(), (site) => ofReference(site, to, others))
  for (const { at } of policyReferencesOf(value))
    add(at, (site) => [setting(site, 'reference misspelt', misspeltName(String(site.value)))])
  for (const { at, name, key } of [...secretReferencesOf(value), ...configMapReferencesOf(value)]) {
    add([...at, 'name'], (site) => [setting(site, 'Secret misspelt', misspeltName(name))])
    add([...at, 'key'], (site) => [setting(site, 'Secret key misspelt', misspeltName(key))])
  }
  return found
}

function* ofReference(
  site: Site,
  to: { kind: string; name: string },
  others: readonly LinkedObject[],
): Generator<Mistake> {
  const names = (isSo: (each: LinkedObject) => boolean) => [
    ...new Set(others.filter(isSo).map(({ name }) => name)),
  ]
  const same = names(({ kind }) => kind.kind === to.kind)
  yield setting(site, 'reference misspelt', misspeltName(to.name, same))
  const target = others.find(({ kind, name }) => kind.kind === to.kind && name === to.name)
  const another = chosen(
    same.filter((name) => name !== to.name),
    to.name,
  )
  if (another !== undefined) {
    const there = others.find(({ kind, name }) => kind.kind === to.kind && name === another)
    const isServer = (object: LinkedObject | undefined) => typeOf(object) === 'embeddedAuthServer'
    const differs = to.kind === 'MCPExternalAuthConfig' && isServer(target) !== isServer(there)
    yield setting(site, 'other object', another, differs ? undefined : 'choice')
  }
  const other = chosen(
    names(({ kind, name }) => kind.kind !== to.kind && !same.includes(name)),
    to.name,
  )
  if (other !== undefined) yield setting(site, 'other kind', other)
}

const typeOf = (object: LinkedObject | undefined): unknown =>
  isObject(object?.value.spec) ? object.value.spec.type : undefined

const chosen = (names: readonly string[], salt: string): string | undefined =>
  names[hashOf(salt) % Math.max(names.length, 1)]

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
  yield setting(site, 'provider misspelt', misspeltName(value, known), isReferred ? undefined : 'outside')
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
