/** The parts of a URL that rules read, as the user wrote them; only the scheme is in lower case. */
export interface Url {
  /** The scheme in lower case; empty in a relative reference. */
  readonly scheme: string
  readonly hasUserInfo: boolean
  /** The host without port and brackets; empty when the URL has no host. */
  readonly host: string
  readonly port: string
}

/**
 * Splits a URL as `net/url.Parse` of Go 1.26 does; undefined where Go returns an error. WHATWG `URL` would read `127.1`
 * and `127.0.0.1\@evil.com` as loopback hosts. Percent-escapes are checked as in Go, but not decoded: in a host they
 * only encode characters that no rule searches for. Takes time linear in the length of the text.
 */
export function parseUrl(text: string): Url | undefined {
  const plain = PLAIN.exec(text)
  if (plain !== null)
    return { scheme: plain[1] ?? '', hasUserInfo: false, host: plain[2] ?? '', port: plain[3] ?? '' }
  const [reference, fragment] = cut(text, '#')
  if (CONTROL.test(reference) || BAD_ESCAPE.test(fragment)) return undefined
  const [hierarchy] = cut(reference, '?')
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(hierarchy)?.[1]?.toLowerCase() ?? ''
  const rest = scheme === '' ? hierarchy : hierarchy.slice(scheme.length + 1)
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { scheme, ...NO_AUTHORITY }
    const [firstSegment] = cut(rest, '/')
    return firstSegment.includes(':') || BAD_ESCAPE.test(rest) ? undefined : { scheme, ...NO_AUTHORITY }
  }
  if (!rest.startsWith('//') || (scheme === '' && rest.startsWith('///'))) {
    return BAD_ESCAPE.test(rest) ? undefined : { scheme, ...NO_AUTHORITY }
  }
  const [authority, path] = cut(rest.slice(2), '/')
  if (BAD_ESCAPE.test(path)) return undefined
  const at = authority.lastIndexOf('@')
  if (at >= 0 && !isUserInfo(authority.slice(0, at))) return undefined
  const host = parseHost(scheme, authority.slice(at + 1))
  return host && { scheme, hasUserInfo: at >= 0, ...host }
}

/**
 * Whether a host is loopback: `localhost` in any case, `127.x.x.x` of four decimal numbers as Go's net.ParseIP reads
 * them, or `::1` (decision 13). Other spellings of `::1` are not loopback.
 */
export function isLoopback(host: string): boolean {
  return host === '::1' || /^localhost$/i.test(host) || LOOPBACK_IPV4.test(host)
}

/** Matches nearly every real URL quickly, with the same result as the full parser. */
const PLAIN = /^(https?):\/\/([A-Za-z0-9.-]+)(?::(\d*))?(?:\/[A-Za-z0-9\-._~/]*)?$/

const LOOPBACK_IPV4 = /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/
const NO_AUTHORITY = { hasUserInfo: false, host: '', port: '' }
const CONTROL = /[\u0000-\u001f\u007f]/
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/
const USER_INFO = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/
/** The ASCII characters that Go accepts unescaped in a host, and everything beyond ASCII. */
const HOST_CHARACTERS = /^[A-Za-z0-9!"$&'()*+,\-.:;<=>[\]_~\u0080-\uffff]*$/
/** The percent-escapes that Go accepts in a host: for bytes beyond ASCII and for `%`. */
const HOST_ESCAPE = /%(?:25|[89A-Fa-f][0-9A-Fa-f])/g
/** The percent-escapes that Go accepts in an IPv6 zone: for ASCII characters allowed in a host, space and `%`. */
const ZONE_ESCAPE = /%(?:2[0-24-9A-Ea-e]|3[0-9A-Ea-e]|4[1-9A-Fa-f]|5[0-9AaBbDdFf]|6[1-9A-Fa-f]|7[0-9AaEe])/g

function isUserInfo(text: string): boolean {
  return USER_INFO.test(text) && !BAD_ESCAPE.test(text)
}

/** Works as `net/url.parseHost` of Go, followed by `URL.Hostname` and `URL.Port`. */
function parseHost(scheme: string, text: string): Pick<Url, 'host' | 'port'> | undefined {
  const bracket = text.lastIndexOf('[')
  if (bracket > 0) return undefined
  if (bracket === 0) {
    const end = text.lastIndexOf(']')
    const host = text.slice(1, Math.max(end, 1))
    const port = optionalPort(text.slice(end + 1))
    return end < 0 || port === undefined || !isIpLiteral(host) ? undefined : { host, port }
  }
  if (!HOST_CHARACTERS.test(text.replace(HOST_ESCAPE, ''))) return undefined
  const isStrict = scheme === 'http' || scheme === 'https'
  const colon = isStrict ? text.indexOf(':') : text.lastIndexOf(':')
  const port = colon < 0 ? '' : optionalPort(text.slice(colon))
  return port === undefined ? undefined : { host: colon < 0 ? text : text.slice(0, colon), port }
}

/** The port in a text such as `:80`; empty when the text is `:` or empty; undefined for other texts. */
function optionalPort(text: string): string | undefined {
  return text === '' || /^:\d*$/.test(text) ? text.slice(1) : undefined
}

/** Whether the text is an IPv6 address as `net/netip.ParseAddr` reads it, with or without a zone after `%25`. */
function isIpLiteral(text: string): boolean {
  const zoneAt = text.indexOf('%25')
  if (zoneAt < 0) return isIpv6(text)
  const zone = text.slice(zoneAt + 3)
  return isIpv6(text.slice(0, zoneAt)) && zone !== '' && HOST_CHARACTERS.test(zone.replace(ZONE_ESCAPE, ''))
}

const LONGEST_IPV6 = '0000:0000:0000:0000:0000:ffff:255.255.255.255'.length

function isIpv6(text: string): boolean {
  if (text.length > LONGEST_IPV6) return false
  const hex = text.replace(DOTTED_QUAD_AT_END, ':0:0')
  const [head = '', tail, ...more] = hex.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const count = before.length + after.length
  return (
    more.length === 0 &&
    (tail === undefined ? count === 8 : count < 8) &&
    [...before, ...after].every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))
  )
}

const DOTTED_QUAD_AT_END = /:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/

/** The text before and after the first separator; without a separator, the whole text and an empty one. */
function cut(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)]
}
