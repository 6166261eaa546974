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
  const claim = /claims(?:\.|\[["'])([A-Za-z_]\w*)/.exec(text)?.[1]
  if (claim !== undefined) {
    const pattern = new RegExp(`(?<=claims(?:\\.|\\[["']))${claim}\\b`)
    const why = COMMON_CLAIMS.has(claim) ? undefined : 'outside'
    yield* change('claim misspelt', pattern, (name) => misspeltName(name), why)
  }
  yield* change('matcher misspelt', /(?<=\.)[A-Za-z]+(?=\()/, (name) => misspeltWord(name))
  yield* change('matcher misspelt', /\bclaims\b/, (name) => misspeltName(name))
  yield* change('operator changed', /==|!=|&&|\|\||\bin\b/, (sign) => OTHER[sign] ?? sign, 'choice')
  for (const clause of [/^[^|&]+(?:&&|\|\|)\s*/, /\s*(?:&&|\|\|)[^|&]+$/])
    if (isBalanced(clause.exec(text)?.[0] ?? '(')) yield* change('clause dropped', clause, () => '', 'choice')
}

const OTHER: Readonly<Record<string, string>> = { '==': '!=', '!=': '==', '&&': '||', '||': '&&', in: '==' }

const isBalanced = (text: string): boolean =>
  ['()', '[]'].every(([open = '', close = '']) => text.split(open).length === text.split(close).length)
