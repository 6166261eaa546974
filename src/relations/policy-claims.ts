import type { Static } from 'typebox'
import { type Given, isAbsent } from '../rule/index.ts'
import type { MCPServer } from '../kinds/schemas.ts'

type AuthzConfig = NonNullable<NonNullable<Given<Static<typeof MCPServer>>['spec']>['authzConfig']>

/** A string or a comment of Cedar, to its end or to that of the text; with the quotation mark that ends the string. */
export const STRING_OR_COMMENT = /"(?:[^"\\]|\\.)*\\?("|$)|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/gs

const CLAIM = /(\bhas\s+)?(?:"claim(?:set)?_([^"]+)"|\bclaim(?:set)?_(\w+))/g
/** A policy with one of these words is not read further: a negation, or an alternative by `if`. */
const UNREAD = /!(?!=)|\bif\b/

interface Mention {
  readonly claim: string
  /** Whether `has` asks for it; reading a claim that is not there is an error. */
  readonly isAsked: boolean
}

/** The claims that inline policies name and that a token with these claims lacks, each once. */
export function foreignClaims(config: AuthzConfig, own: ReadonlySet<string>): string[] {
  return distinct(
    textsOf(config)
      .flatMap((text) => mentions(text, config))
      .filter(({ claim }) => !own.has(claim)),
  )
}

/**
 * The claims for whose sake policies deny every caller with a token of these claims: a policy for everything reads one
 * without asking with `has`, which is an error, and releases deny on an error; or every `permit` needs one.
 */
export function denyingClaims(config: AuthzConfig, own: ReadonlySet<string>): string[] {
  if (config.inline?.policies?.includes(undefined)) return []
  const policies = textsOf(config).map((text) => {
    const [head = '', ...conditions] = text.split(/\b(?:when|unless)\b/)
    const alternatives = conditions.flatMap((condition) => condition.split('||')).map((part) => head + part)
    const lacking = (alternatives.length === 0 ? [head] : alternatives).map((part) =>
      mentions(part, config).filter(({ claim }) => !own.has(claim)),
    )
    const isNeeded = !UNREAD.test(withoutStrings(text)) && lacking.every(({ length }) => length > 0)
    return {
      isPermit: /\bpermit\s*\(/.test(head),
      isForEverything: !/=|\b(?:in|is)\b/.test(withoutStrings(head)),
      hasUnless: /\bunless\b/.test(text),
      needed: isNeeded ? lacking.flat() : [],
    }
  })
  const permits = policies.filter(({ isPermit }) => isPermit)
  const isPermitted = permits.some(({ needed, hasUnless }) => needed.length === 0 || hasUnless)
  const denying = policies.filter(
    ({ isPermit, isForEverything, hasUnless, needed }) =>
      (isForEverything && (needed.some(({ isAsked }) => !isAsked) || (!isPermit && hasUnless))) ||
      (isPermit && !isPermitted),
  )
  return distinct(denying.flatMap(({ needed }) => needed))
}

/** The policies that can be read, without comments. */
const textsOf = (config: AuthzConfig): string[] =>
  (config.inline?.policies ?? []).map((text = '') =>
    text.replace(STRING_OR_COMMENT, (found) => (found.startsWith('"') ? found : ' ')),
  )

const withoutStrings = (text: string): string => text.replace(STRING_OR_COMMENT, '""')

function mentions(text: string, config: AuthzConfig): Mention[] {
  const groupType = isAbsent(config, 'groupEntityType') ? 'THVGroup' : config.groupEntityType
  const groupClaim = isAbsent(config, 'groupClaimName') ? 'groups' : config.groupClaimName
  const found = Array.from(text.matchAll(CLAIM), ([, has, quoted, plain]) => ({
    claim: quoted ?? plain ?? '',
    isAsked: has !== undefined,
  }))
  const asked = new Set(found.filter(({ isAsked }) => isAsked).map(({ claim }) => claim))
  const inGroup = groupType !== undefined && groupClaim !== undefined && text.includes(`${groupType}::`)
  return [
    ...found.map(({ claim }) => ({ claim, isAsked: asked.has(claim) })),
    ...(inGroup ? [{ claim: groupClaim, isAsked: true }] : []),
  ]
}

const distinct = (found: readonly Mention[]): string[] => Array.from(new Set(found.map(({ claim }) => claim)))
