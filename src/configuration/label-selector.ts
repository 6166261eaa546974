/** A LabelSelector of Kubernetes, as far as conditions go; `{}` selects everything. */
export interface LabelSelector {
  readonly matchExpressions?: readonly LabelCondition[]
}

interface LabelCondition {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  readonly values?: readonly string[]
}

const NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'
const KEY = `(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?${NAME}`
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`)
const EQUALS = new RegExp(`^(${KEY})\\s*(==?|!=)\\s*((?:${NAME})?)$`)
const ONE_OF = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`)
const VALUE = new RegExp(`^(?:${NAME})?$`)

/**
 * Reads a selector as kubectl's `--selector` has it: `a=b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, separated
 * by commas. Throws an Error that says what to write instead.
 */
export function parseLabelSelector(text: string): LabelSelector {
  // A comma in parentheses separates values.
  const parts = text.trim() === '' ? [] : text.split(/,(?![^()]*\))/)
  return parts.length === 0 ? {} : { matchExpressions: parts.map((part) => conditionOf(part.trim())) }
}

function conditionOf(part: string): LabelCondition {
  const [, not, existing] = EXISTS.exec(part) ?? []
  if (existing !== undefined) return { key: existing, operator: not === '!' ? 'DoesNotExist' : 'Exists' }
  const [, equal, sign, value = ''] = EQUALS.exec(part) ?? []
  if (equal !== undefined) return { key: equal, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] }
  const [, key, word, list = ''] = ONE_OF.exec(part) ?? []
  const values = list.split(',').map((each) => each.trim())
  if (key === undefined || !values.every((each) => VALUE.test(each)))
    throw new Error(
      `'${part}' is not a condition on a label, such as environment=production or kubernetes.io/metadata.name notin (team-a,team-b)`,
    )
  return { key, operator: word === 'in' ? 'In' : 'NotIn', values }
}

/** Labels with which an object is selected, unless two conditions name the same label. */
export function labelsSelectedBy({ matchExpressions = [] }: LabelSelector): Record<string, string> {
  const needed = matchExpressions.filter(({ operator }) => operator === 'In' || operator === 'Exists')
  return Object.fromEntries(needed.map(({ key, values = [] }) => [key, values[0] ?? '']))
}
