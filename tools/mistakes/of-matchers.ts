import type { Class, Undecidable } from './classes.ts'
import type { Mistake } from './mistake.ts'
import { setting } from './of-form.ts'
import type { Site } from './site.ts'
import { misspeltName, misspeltWord } from './spelling.ts'

/** The claims of OpenID Connect and of most providers: a name that is nearly one of these is misspelt. */
const COMMON_CLAIMS: ReadonlySet<string> = new Set([
  'sub',
  'iss',
  'aud',
  'email',
  'groups',
  'roles',
  'scope',
  'azp',
])

/** A matcher in which one word, one operator or one clause is another. */
export function* matcherMistakes(site: Site, text: string): Generator<Mistake> {
  const change = (of: Class, pattern: RegExp, to: (found: string) => string, why?: Undecidable) => {
    const found = pattern.exec(text)
    if (found === null) return []
    const [all] = found
    const next = text.slice(0, found.index) + to(all) + text.slice(found.index + all.length)
    return next === text ? [] : [setting(site, of, next, why)]
  }
  const claim = CLAIM.exec(text)?.[1]
  if (claim !== undefined) {
    const why = COMMON_CLAIMS.has(claim) ? undefined : 'outside'
    yield* change(
      'claim misspelt',
      CLAIM,
      (read) => read.slice(0, read.length - claim.length) + misspeltName(claim),
      why,
    )
  }
  yield* change('matcher misspelt', /\.[A-Za-z]+\(/, (call) => `.${misspeltWord(call.slice(1, -1))}(`)
  yield* change('matcher misspelt', /\bclaims\b/, (name) => misspeltName(name))
  yield* change('operator changed', /==|!=|&&|\|\||\bin\b/, (sign) => OTHER[sign] ?? sign, 'choice')
  for (const next of [withoutFirstClause(text), withoutLastClause(text)])
    if (next !== undefined && next !== text) yield setting(site, 'clause dropped', next, 'choice')
}

/** A claim that is read, with its name. */
const CLAIM = /claims(?:\.|\[["'])([A-Za-z_]\w*)/

function withoutFirstClause(text: string): string | undefined {
  const [clause] = /^[^|&]+(?:&&|\|\|)\s*/.exec(text) ?? []
  return clause !== undefined && isBalanced(clause) ? text.slice(clause.length) : undefined
}

function withoutLastClause(text: string): string | undefined {
  const found = /(?:&&|\|\|)[^|&]+$/.exec(text)
  return found !== null && isBalanced(found[0]) ? text.slice(0, found.index).trimEnd() : undefined
}

const OTHER: Readonly<Record<string, string>> = { '==': '!=', '!=': '==', '&&': '||', '||': '&&', in: '==' }

const isBalanced = (text: string): boolean =>
  ['()', '[]'].every(([open = '', close = '']) => text.split(open).length === text.split(close).length)
