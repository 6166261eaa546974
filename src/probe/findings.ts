import { PROBE_IDS, type ProbeId } from '../engine/index.ts'
import { type Finding, shortQuote } from '../rule/index.ts'
import type { Target } from './target.ts'

const SEVERITIES = new Map<string, Finding['severity']>(PROBE_IDS.map(({ id, severity }) => [id, severity]))

/** A finding at the field that contains the probed address. */
export const findingAt = ({ at }: Pick<Target, 'at'>, id: ProbeId, detail: string): Finding => ({
  id,
  severity: SEVERITIES.get(id) ?? 'warning',
  error: { type: 'advice', at, detail },
})

/** A finding that the field contains a wrong address. */
export const wrongValueAt = (
  { at, url }: Pick<Target, 'at' | 'url'>,
  id: ProbeId,
  detail: string,
): Finding => ({
  ...findingAt({ at }, id, ''),
  error: { type: 'invalid', at, value: url, detail },
})

/** The first items of a list that a probed server returned, as text. */
export function listText(items: readonly string[], most = 6): string {
  const shown = items.slice(0, most).map(shortQuote).join(', ')
  return items.length > most ? `${shown} and ${items.length - most} more` : shown
}
