import { structuredPatch } from 'diff'
import { counted } from '../../cli/output/report.ts'
import { h } from '../dom.ts'
import type { JudgedText } from './judged.ts'

/** Shows the fields that the webhook would add, as a diff. Returns the number of lines added. */
export function showDefaults(panel: HTMLElement, { text, completed }: JudgedText, apply: () => void): number {
  const { hunks } = structuredPatch('', '', text, completed, undefined, undefined, { context: 3 })
  const lines = hunks.flatMap((hunk) => hunk.lines)
  const added = lines.filter((line) => line.startsWith('+')).length
  if (added === 0) {
    panel.replaceChildren(
      h('p', { class: 'empty' }, 'Nothing to add: every field that has a documented default is written.'),
    )
    return 0
  }
  panel.replaceChildren(
    h(
      'div',
      { class: 'panel-head' },
      h('p', {}, `The mutating webhook writes ${counted(added, 'line')} more when these are applied.`),
      h('button', { type: 'button', class: 'quiet', onclick: apply }, 'Write them into the text'),
    ),
    h(
      'div',
      { class: 'diff', role: 'region', 'aria-label': 'The defaults as a diff', tabindex: 0 },
      ...hunks.map(({ newStart, lines }) => {
        let number = newStart
        return h(
          'ol',
          { class: 'hunk' },
          ...lines.flatMap((line) => {
            const sign = line[0] ?? ' '
            if (sign === '\\') return []
            const shown = sign === '-' ? '' : String(number++)
            return [
              h(
                'li',
                { class: sign === '+' ? 'added' : sign === '-' ? 'removed' : 'same' },
                h('span', { class: 'number', 'aria-hidden': 'true' }, shown),
                h('span', { class: 'sign' }, sign),
                h('code', {}, line.slice(1)),
              ),
            ]
          }),
        )
      }),
    ),
  )
  return added
}
