import { compilePattern, PATTERNS } from './patterns.ts'

/** Longest text that gets advice: longer ones are not written by hand. */
const LONGEST = 256

const ARN = compilePattern(PATTERNS.arn.ecmaScript)
const REGION = compilePattern(PATTERNS.region.ecmaScript)
const ISSUER = compilePattern(PATTERNS.issuer.ecmaScript)

/** By pattern: advice for a text that does not match, or undefined when the mistake is not a known one. The text that it proposes matches. */
const ADVICE: ReadonlyMap<string, (text: string) => string | undefined> = new Map([
  [PATTERNS.arn.ecmaScript, ofArn],
  [PATTERNS.region.ecmaScript, ofRegion],
  [PATTERNS.issuer.ecmaScript, ofIssuer],
  [PATTERNS.duration.ecmaScript, ofDuration],
  [PATTERNS.dnsLabel.ecmaScript, ofLabel],
])

const DETAILS = new Map(Object.values(PATTERNS).map(({ ecmaScript, detail }) => [ecmaScript, detail]))

/** The requirement of an ECMAScript pattern, as a message says it. */
export function patternDetail(ecmaScript: string): string {
  return DETAILS.get(ecmaScript) ?? `must match ${ecmaScript}`
}

/** The detail of an error for a text that does not match an ECMAScript pattern: the requirement, and what to write. */
export function mismatchDetail(ecmaScript: string, text: string): string {
  const advice = text.length > LONGEST ? undefined : ADVICE.get(ecmaScript)?.(text)
  return advice ?? patternDetail(ecmaScript)
}

/** A role may have a path, which the ARN of its session leaves out. */
function ofArn(text: string): string | undefined {
  const [, partition = '', account = '', name = ''] =
    /^(arn:[a-z-]+:)sts(::\d+:)assumed-role(\/[^/]+)/.exec(text) ?? []
  const role = `${partition}iam${account}role${name}`
  if (ARN.test(role)) return `names a session; write the ARN of its role, such as '${role}'`
  const [, before = '', digits = '', after = ''] = /^(arn:[a-z-]+:iam::)(\d+)(:.*)$/.exec(text) ?? []
  if (!ARN.test(`${before}123456789012${after}`)) return undefined
  return `must have an account ID of 12 digits; this one has ${digits.length}`
}

function ofRegion(text: string): string | undefined {
  const region = text.slice(0, -1)
  return /[a-z]$/.test(text) && REGION.test(region)
    ? `names an availability zone; write '${region}'`
    : undefined
}

/** Does not repeat the URL: there may be a password in it. */
function ofIssuer(text: string): string | undefined {
  const bare = text.replace(/\/+$/, '')
  const isOtherwiseRight = bare !== text && bare.startsWith('https://') && ISSUER.test(bare)
  return isOtherwiseRight ? 'must not end with a slash' : undefined
}

function ofDuration(text: string): string | undefined {
  const days = /^(\d{1,5})d$/.exec(text)?.[1]
  if (days !== undefined) return `there is no unit for days; write '${Number(days) * 24}h'`
  return /^\d{1,9}$/.test(text) ? `must have a unit: '${text}s' for seconds` : undefined
}

function ofLabel(text: string): string | undefined {
  if (!/^[\w .-]{1,63}$/.test(text)) return undefined
  const label = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  return label === '' ? undefined : PATTERNS.dnsLabel.detail.replace("'okta'", `'${label}'`)
}
