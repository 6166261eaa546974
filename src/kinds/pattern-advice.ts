import { withoutEnd } from '../rule/index.ts'
import { compilePattern, PATTERNS } from './patterns.ts'

/** The longest text for which there is advice: people do not write longer texts by hand. */
const LONGEST = 256

const ARN = compilePattern(PATTERNS.arn.ecmaScript)
const REGION = compilePattern(PATTERNS.region.ecmaScript)
const ISSUER = compilePattern(PATTERNS.issuer.ecmaScript)

/** Advice for a text that does not match a pattern; `fix` is the text that was certainly meant, if any. */
interface Advice {
  readonly detail: string
  readonly fix?: { readonly title: string; readonly text: string }
}

/**
 * By ECMAScript pattern: a function that returns advice for a text that does not match the pattern; undefined when
 * the mistake is not known.
 */
const ADVICE: ReadonlyMap<string, (text: string) => Advice | undefined> = new Map([
  [PATTERNS.arn.ecmaScript, ofArn],
  [PATTERNS.region.ecmaScript, ofRegion],
  [PATTERNS.issuer.ecmaScript, ofIssuer],
  [PATTERNS.duration.ecmaScript, ofDuration],
  [PATTERNS.dnsLabel.ecmaScript, ofLabel],
])

const DETAILS = new Map(Object.values(PATTERNS).map(({ ecmaScript, detail }) => [ecmaScript, detail]))

/** The requirement of an ECMAScript pattern, as text. */
export function patternDetail(ecmaScript: string): string {
  return DETAILS.get(ecmaScript) ?? `must match ${ecmaScript}`
}

/** The detail of an error for a text that does not match an ECMAScript pattern: the requirement, and advice. */
export const mismatchDetail = (ecmaScript: string, text: string): string =>
  adviceFor(ecmaScript, text)?.detail ?? patternDetail(ecmaScript)

/**
 * The text that was certainly meant instead of `text`, which does not match the pattern; undefined when it is not
 * certain.
 */
export const mismatchFix = (ecmaScript: string, text: string): Advice['fix'] =>
  adviceFor(ecmaScript, text)?.fix

const adviceFor = (ecmaScript: string, text: string): Advice | undefined =>
  text.length > LONGEST ? undefined : ADVICE.get(ecmaScript)?.(text)

/** Advice for a wrong role ARN. The ARN of a session has no fix, because it lacks the path that its role may have. */
function ofArn(text: string): Advice | undefined {
  const [, partition = '', account = '', name = ''] =
    /^(arn:[a-z-]+:)sts(::\d+:)assumed-role(\/[^/]+)/.exec(text) ?? []
  const role = `${partition}iam${account}role${name}`
  if (ARN.test(role)) return { detail: `names a session; write the ARN of its role, such as '${role}'` }
  const [, before = '', digits = '', after = ''] = /^(arn:[a-z-]+:iam::)(\d+)(:.*)$/.exec(text) ?? []
  if (!ARN.test(`${before}123456789012${after}`)) return undefined
  return { detail: `must have an account ID of 12 digits; this one has ${digits.length}` }
}

function ofRegion(text: string): Advice | undefined {
  const region = text.slice(0, -1)
  return /[a-z]$/.test(text) && REGION.test(region)
    ? { detail: `names an availability zone; write '${region}'`, fix: writing(region) }
    : undefined
}

const writing = (text: string) => ({ title: `write '${text}'`, text })

/** Advice for an issuer that ends with a slash; it does not quote the URL, which may contain a password. */
function ofIssuer(text: string): Advice | undefined {
  const bare = withoutEnd(text, '/')
  const isOtherwiseRight = bare !== text && bare.startsWith('https://') && ISSUER.test(bare)
  return isOtherwiseRight
    ? { detail: 'must not end with a slash', fix: { title: 'remove the slash at its end', text: bare } }
    : undefined
}

function ofDuration(text: string): Advice | undefined {
  const days = /^(\d{1,5})d$/.exec(text)?.[1]
  if (days !== undefined) {
    const hours = `${Number(days) * 24}h`
    return { detail: `there is no unit for days; write '${hours}'`, fix: writing(hours) }
  }
  return /^\d{1,9}$/.test(text) ? { detail: `must have a unit: '${text}s' for seconds` } : undefined
}

function ofLabel(text: string): Advice | undefined {
  if (!/^[\w .-]{1,63}$/.test(text)) return undefined
  const label = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  return label === '' ? undefined : { detail: PATTERNS.dnsLabel.detail.replace("'okta'", `'${label}'`) }
}
