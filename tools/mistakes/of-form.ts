/** Mistakes of form: what a schema can say. */

import { compilePattern, PATTERNS } from '../../src/kinds/patterns.ts'
import { holdsPlaceholder } from '../../src/documents/index.ts'
import { isObject } from '../../src/rule/index.ts'
import type { Class, Undecidable } from './classes.ts'
import type { Mistake } from './mistake.ts'
import { fieldName, namesOf, type Site } from './site.ts'
import { hashOf, misspeltName, misspeltWord } from './spelling.ts'
import { standsElsewhere, type LinkedObjects } from './linked-objects.ts'

export const setting = (site: Site, of: Class, value: unknown, undecidable?: Undecidable): Mistake => ({
  class: of,
  object: site.object.index,
  change: { op: 'set', at: site.at, value },
  undecidable,
})

export function* formMistakes(site: Site, linked: LinkedObjects): Generator<Mistake> {
  const { value, at, keys, object } = site
  const key = keys.at(-1)
  if (typeof key === 'string' && !isEnvelope(site, 'namespace')) {
    const why = maybeAbsent(site)
    yield { class: 'missing', object: object.index, change: { op: 'remove', at }, undecidable: why }
    yield* misspeltKey(site, key, linked)
  }
  const wrong = ofWrongType(value)
  if (wrong !== undefined && keys.length > 0 && !isEnvelope(site, 'namespace'))
    yield setting(site, 'wrong type', wrong)
  if (typeof value === 'string') yield* ofText(site, value, linked)
  if (typeof value === 'number') yield* ofNumber(site)
  if (typeof value === 'boolean') yield setting(site, 'flag turned', !value, 'choice')
  if (Array.isArray(value)) yield* ofList(site, value)
}

const isEnvelope = ({ keys }: Site, name: string): boolean => keys[0] === 'metadata' && keys[1] === name

/** Undefined where something requires the field. */
function maybeAbsent(site: Site): Undecidable | undefined {
  const key = String(site.keys.at(-1))
  const { holder, holderNode, holderCrd, keys } = site
  if (keys[0] !== 'spec') return undefined
  if (site.isKeyOfMap) return 'optional'
  const isRequired =
    holderNode?.required?.includes(key) === true || holderCrd?.required?.includes(key) === true
  const isDemanded = isNamed(holder, key) || REQUIRED_BY_TEXT.has(namesOf(site).join('.'))
  return isRequired || isDemanded ? undefined : 'optional'
}

/** The specification and the operator require them, and their schemas do not. */
const REQUIRED_BY_TEXT: ReadonlySet<string> = new Set([
  'spec.incomingAuth',
  'spec.incomingAuth.oidcConfigRef.audience',
])

/** Whether another field of the holder names this one: `type: awsSts` the settings `awsSts`, `type: oidc` those in `oidcConfig`. */
const isNamed = (holder: Site['holder'], key: string): boolean =>
  Object.entries(holder).some(
    ([name, value]) => name !== key && typeof value === 'string' && names(value, key),
  )

const names = (value: string, key: string): boolean =>
  ['', 'Config', 'ConfigRef', 'Ref'].some((end) => key.toLowerCase() === `${value}${end}`.toLowerCase())

function* misspeltKey(site: Site, key: string, linked: LinkedObjects): Generator<Mistake> {
  const { at, object, holder, holderNode, holderCrd, isKeyOfMap } = site
  const taken = [
    ...Object.keys(holder),
    ...Object.keys({ ...holderNode?.properties, ...holderCrd?.properties }),
  ]
  if (!isKeyOfMap) {
    const to = misspeltWord(key, new Set(taken))
    yield { class: 'key misspelt', object: object.index, change: { op: 'rename', at, to } }
  } else {
    const isName = namesOf(site).at(-2) === 'backends'
    const isKnown =
      isName && linked.objects.some(({ name, namespace }) => name === key && namespace === object.namespace)
    const change = { op: 'rename', at, to: misspeltName(key, new Set(taken)) } as const
    yield isName
      ? {
          class: 'reference misspelt',
          object: object.index,
          change,
          undecidable: isKnown ? undefined : 'outside',
        }
      : { class: 'other text', object: object.index, change, undecidable: 'outside' }
  }
}

/** A value of another JSON type, as YAML makes it of quotes too many or too few, or of a level that is missing. */
function ofWrongType(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return hashOf(value) % 2 === 0 ? 1 : { value }
  if (Array.isArray(value)) return (value as unknown[])[0] ?? ''
  return isObject(value) ? Object.keys(value).join(' ') : undefined
}

function* ofText(site: Site, value: string, linked: LinkedObjects): Generator<Mistake> {
  if (holdsPlaceholder(value)) return
  const values = (site.node?.enum ?? site.crd?.enum)?.map(String)
  if (values !== undefined) {
    yield setting(site, 'value misspelt', misspeltWord(value, new Set(values)))
    const others = values.filter((each) => each !== value && each !== '')
    const other = others[hashOf(value + site.keys.join('.')) % others.length]
    const isNamer = !Array.isArray(site.holder) && Object.keys(site.holder).some((key) => names(value, key))
    if (other !== undefined) yield setting(site, 'other value', other, isNamer ? undefined : 'choice')
  }
  if (site.keys[0] === 'apiVersion') yield setting(site, 'value misspelt', misspeltWord(value))
  if (site.keys[0] === 'kind') yield setting(site, 'value misspelt', misspeltWord(value))
  if (site.keys[0] !== 'spec') return
  if (value !== '' && values === undefined) {
    const isRequired = maybeAbsent(site) === undefined
    yield setting(site, 'emptied', '', isRequired || Array.isArray(site.holder) ? undefined : 'optional')
  }
  const wrong = wrongForm(value)
  // An audience is any text.
  const why =
    /audience/i.test(fieldName(site)) && !standsElsewhere(linked, site.object, fieldName(site), value)
      ? 'outside'
      : undefined
  if (wrong !== undefined) yield setting(site, 'wrong form', wrong, why)
  else if (DURATION.test(value)) yield setting(site, 'wrong form', inWrongUnit(value))
}

const DURATION = compilePattern(PATTERNS.duration.ecmaScript)

function inWrongUnit(value: string): string {
  const number = value.slice(0, 1 + value.search(/\d[a-zµ]+$/))
  const unit = value.slice(number.length)
  return [number, `${number} ${unit}`, `${number}d`][hashOf(value) % 3] ?? '5'
}

/** A text whose form is clear, in a wrong form; undefined for other texts. */
function wrongForm(value: string): string | undefined {
  if (/^https?:\/\//.test(value)) {
    const ways = [
      value.replace('://', ':/'),
      value.replace(/^https?:\/\//, ''),
      value.replace(/^http/, 'htp'),
    ]
    return ways[hashOf(value) % ways.length]
  }
  if (/^arn:aws[\w-]*:iam::\d{12}:role\//.test(value))
    return [value.replace(/\d:role/, ':role'), value.replace(':role/', ':roles/'), value.replace('::', ':')][
      hashOf(value) % 3
    ]
  if (/^[a-z]{2}(?:-[a-z]+)+-\d$/.test(value)) return value.replaceAll('-', '_')
  return undefined
}

function* ofNumber(site: Site): Generator<Mistake> {
  const most =
    site.node?.maximum ?? site.crd?.maximum ?? (/port$/i.test(fieldName(site)) ? 65_535 : undefined)
  const least = site.node?.minimum ?? site.crd?.minimum
  if (most !== undefined) yield setting(site, 'out of bounds', most + 1)
  else if (least !== undefined) yield setting(site, 'out of bounds', least - 1)
}

function* ofList(site: Site, list: readonly unknown[]): Generator<Mistake> {
  if (list.length === 0) return
  const least = Math.max(site.crd?.minItems ?? 0, site.node?.minItems ?? 0) > 0
  yield setting(site, 'emptied', [], maybeAbsent(site) === undefined || least ? undefined : 'optional')
  const isUnique = ['set', 'map'].includes(site.crd?.['x-kubernetes-list-type'] ?? '')
  const isNamed = UNIQUE_BY_NAME.has(fieldName(site))
  yield setting(site, 'item twice', [...list, list[0]], isUnique || isNamed ? undefined : 'choice')
}

const UNIQUE_BY_NAME: ReadonlySet<string> = new Set([
  'upstreamProviders',
  'trustedIssuers',
  'delegateClients',
])
