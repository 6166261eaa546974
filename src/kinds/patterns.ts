/**
 * A pattern of section 2.5 of the specification. Go's RE2 is the reference (decision 16): `specification` is the
 * original text, which CRDs contain; `ecmaScript` accepts the same strings in JavaScript, where `\s` and `.` have
 * another meaning.
 */
interface Pattern {
  /** The name of the pattern in the specification. */
  readonly name: string
  readonly specification: string
  readonly ecmaScript: string
  readonly detail: string
}

const same = (name: string, text: string, detail: string): Pattern => ({
  name,
  specification: text,
  ecmaScript: text,
  detail,
})

export const PATTERNS = {
  arn: same(
    'P-arn',
    String.raw`^arn:(aws|aws-cn|aws-us-gov):iam::\d{12}:role/[\w+=,.@\-_/]+$`,
    "must be the ARN of an IAM role, such as 'arn:aws:iam::123456789012:role/reader'",
  ),
  region: same(
    'P-region',
    String.raw`^[a-z]{2}(-[a-z]+)+-\d+$`,
    "must be an AWS region, such as 'eu-central-1'",
  ),
  issuer: {
    name: 'P-issuer',
    specification: String.raw`^https?://[^\s?#]+[^/\s?#]$`,
    ecmaScript: String.raw`^https?://[^\t\n\f\r ?#]+[^/\t\n\f\r ?#]$`,
    detail:
      "must be an https URL without query, fragment or trailing slash, such as 'https://auth.example.com'",
  },
  duration: same(
    'P-duration',
    String.raw`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`,
    "must be a Go duration with the units h, m, s, ms, us or ns, such as '1h30m'",
  ),
  dnsLabel: same(
    'P-dnslabel',
    String.raw`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`,
    "must consist of lower case letters, digits and '-', and start and end with a letter or digit, such as 'okta'",
  ),
  url: {
    name: 'P-url',
    specification: String.raw`^https?://.*$`,
    ecmaScript: String.raw`^https?://[^\n]*$`,
    detail: "must be a URL that starts with 'https://' or 'http://'",
  },
  https: {
    name: 'P-https',
    specification: String.raw`^https://.*$`,
    ecmaScript: String.raw`^https://[^\n]*$`,
    detail: "must be a URL that starts with 'https://'",
  },
  subjectTokenType: same(
    'P-subjecttype',
    String.raw`^(access_token|id_token|jwt|urn:ietf:params:oauth:token-type:(access_token|id_token|jwt))?$`,
    "must be 'access_token', 'id_token', 'jwt', or one of these after 'urn:ietf:params:oauth:token-type:'",
  ),
  reason: same(
    'P-reason',
    String.raw`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`,
    "must be a CamelCase word, such as 'ValidationSucceeded'",
  ),
  conditionType: same(
    'P-condtype',
    String.raw`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
    "must be a qualified name, such as 'Valid'",
  ),
} as const satisfies Record<string, Pattern>

/**
 * V8 stores a backtrack position for each round of a repeated group, and throws a RangeError on a long match. So the
 * three patterns with such a group are matched term by term: a term is the text of one round. The result is the same,
 * because each term can end at only one place.
 */
const READ_BY_TERM = new Map<string, (text: string) => boolean>([
  [PATTERNS.region.ecmaScript, (text) => repeats(text, 2, /-[a-z]+/y, /-\d+$/y) && /^[a-z]{2}/.test(text)],
  [
    PATTERNS.duration.ecmaScript,
    (text) => repeats(text, 0, /[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h)/y, /$/y),
  ],
  [PATTERNS.conditionType.ecmaScript, isConditionType],
])

/** Returns a function that tests texts against an ECMAScript pattern, in time linear in the length of the text. */
export function compilePattern(ecmaScript: string): { test(text: string): boolean } {
  const read = READ_BY_TERM.get(ecmaScript)
  // eslint-disable-next-line no-restricted-syntax -- test/patterns.test.ts proves that PATTERNS take linear time.
  return read === undefined ? new RegExp(ecmaScript, 'u') : { test: read }
}

/** Whether the text, from `start` on, consists of one or more terms and then a tail that ends the text. */
function repeats(text: string, start: number, term: RegExp, tail: RegExp): boolean {
  let end = start
  for (let next = endOf(term, text, end); next >= 0; next = endOf(term, text, end)) end = next
  return end > start && endOf(tail, text, end) >= 0
}

/** The index at which a match that starts at `from` ends; -1 when the pattern does not match there. */
function endOf(sticky: RegExp, text: string, from: number): number {
  sticky.lastIndex = from
  return sticky.test(text) ? sticky.lastIndex : -1
}

const QUALIFIED_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/

function isConditionType(text: string): boolean {
  const slash = text.indexOf('/')
  if (!QUALIFIED_NAME.test(text.slice(slash + 1))) return false
  return slash < 0 || repeats(`${text.slice(0, slash)}.`, 0, /[a-z0-9]([-a-z0-9]*[a-z0-9])?\./y, /$/y)
}
