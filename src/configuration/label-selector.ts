/** A Kubernetes LabelSelector without `matchLabels`; `{}` selects everything. */
export interface LabelSelector {
  readonly matchExpressions?: readonly LabelCondition[]
}

interface LabelCondition {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  readonly values?: readonly string[]
}

const KEY = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/
const EXISTS = /^(!?)\s*([^\s!]+)$/
const EQUALS = /^([^\s=!]+)\s*(==?|!=)\s*([^\s=!]*)$/
const ONE_OF = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/

/**
 * Parses a selector in the syntax of kubectl's `--selector`: `a=b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`,
 * separated by commas. Throws an Error that says what to write instead.
 */
export function parseLabelSelector(text: string): LabelSelector {
  return text.trim() === '' ? {} : { matchExpressions: partsOf(text).map((part) => conditionOf(part.trim())) }
}

/** Splits the text at its commas, but not at those inside parentheses, which separate values. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  let end = text.length
  let isInside = false
  for (let at = end - 1; at >= 0; at--) {
    const character = text.charAt(at)
    if (character === '(' || character === ')') isInside = character === ')'
    else if (character === ',' && !isInside) {
      parts.push(text.slice(at + 1, end))
      end = at
    }
  }
  return [...parts, text.slice(0, end)].reverse()
}

function conditionOf(part: string): LabelCondition {
  const [, not, existing] = EXISTS.exec(part) ?? []
  if (existing !== undefined && KEY.test(existing))
    return { key: existing, operator: not === '!' ? 'DoesNotExist' : 'Exists' }
  const [, equal, sign, value = ''] = EQUALS.exec(part) ?? []
  if (equal !== undefined && KEY.test(equal) && VALUE.test(value))
    return { key: equal, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] }
  const [, key, word, list = ''] = ONE_OF.exec(part) ?? []
  const values = list.split(',').map((each) => each.trim())
  if (key === undefined || !KEY.test(key) || !values.every((each) => VALUE.test(each)))
    throw new Error(
      `'${part}' is not a condition on a label, such as environment=production or kubernetes.io/metadata.name notin (team-a,team-b)`,
    )
  return { key, operator: word === 'in' ? 'In' : 'NotIn', values }
}

/** Labels that satisfy the selector, unless two conditions name the same label. */
export function labelsSelectedBy({ matchExpressions = [] }: LabelSelector): Record<string, string> {
  const needed = matchExpressions.filter(({ operator }) => operator === 'In' || operator === 'Exists')
  return Object.fromEntries(needed.map(({ key, values = [] }) => [key, values[0] ?? '']))
}
