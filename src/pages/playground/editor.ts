import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language'
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { EditorState, Prec } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'

/** A range of the text with a message; `from` and `to` are offsets. */
export interface Mark {
  readonly from: number
  readonly to: number
  readonly severity: 'error' | 'warning' | 'info'
  readonly id: string
  readonly message: string
  /** A safe change of the text that corrects the mistake, with its title. */
  readonly fix?: { readonly title: string; readonly run: () => void } | undefined
}

export class Editor {
  readonly #view: EditorView

  /** `changed` is called after each change of the text. */
  constructor(parent: HTMLElement, changed: () => void) {
    // In a shadow tree the editor uses adopted style sheets; the page's Content-Security-Policy forbids other styles.
    const root = parent.attachShadow({ mode: 'open' })
    this.#view = new EditorView({ root, parent: root, state: stateOf('', changed) })
  }

  get text(): string {
    return this.#view.state.doc.toString()
  }

  /** Replaces only the differing part of the text, so that the cursor and undo keep working. */
  replace(text: string): void {
    const before = this.text
    let start = 0
    while (start < before.length && start < text.length && before[start] === text[start]) start++
    let end = 0
    const rest = Math.min(before.length, text.length) - start
    while (end < rest && before.at(-1 - end) === text.at(-1 - end)) end++
    this.#view.dispatch({
      changes: { from: start, to: before.length - end, insert: text.slice(start, text.length - end) },
    })
  }

  /** Shows a different text, scrolled to its top. */
  open(text: string): void {
    this.#view.dispatch({
      changes: { from: 0, to: this.#view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      effects: EditorView.scrollIntoView(0),
    })
  }

  mark(marks: readonly Mark[]): void {
    const { length } = this.#view.state.doc
    const diagnostics = marks.map(({ from, to, severity, id, message, fix }): Diagnostic => {
      const start = Math.min(from, length)
      return {
        from: start,
        to: Math.min(Math.max(to, start), length),
        severity,
        source: id,
        message,
        actions: fix === undefined ? [] : [{ name: `Fix: ${fix.title}`, apply: fix.run }],
      }
    })
    this.#view.dispatch(setDiagnostics(this.#view.state, diagnostics))
  }

  /** Selects a range of the text, and focuses the editor. */
  select(from: number, to: number): void {
    this.#view.focus()
    this.#view.dispatch({
      selection: { anchor: from, head: to },
      effects: EditorView.scrollIntoView(from, { y: 'center' }),
    })
  }

  focus(): void {
    this.#view.focus()
  }
}

const stateOf = (doc: string, changed: () => void): EditorState =>
  EditorState.create({
    doc,
    extensions: [
      lineNumbers(),
      lintGutter(),
      foldGutter(),
      highlightActiveLineGutter(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      search({ top: true }),
      yaml(),
      syntaxHighlighting(HIGHLIGHTS),
      THEME,
      EditorView.lineWrapping,
      // No key binding uses Tab, so that people without a mouse can leave the editor with it.
      keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap]),
      Prec.highest(
        EditorView.contentAttributes.of({
          'aria-label': 'Manifests, YAML',
          spellcheck: 'false',
          tabindex: '0',
        }),
      ),
      EditorView.updateListener.of(({ docChanged }) => {
        if (docChanged) changed()
      }),
    ],
  })

/** Colours from style.css, for both themes. */
const HIGHLIGHTS = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: 'var(--syntax-key)' },
  { tag: [tags.string, tags.special(tags.string), tags.content], color: 'var(--syntax-text)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--syntax-number)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
  {
    tag: [tags.meta, tags.separator, tags.punctuation, tags.squareBracket, tags.brace],
    color: 'var(--muted)',
  },
])

const ICON = (shape: string, colour: string) =>
  `url('data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="${colour}">${shape}</svg>')`

const THEME = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--surface)', fontSize: '13px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--accent)', padding: '8px 0' },
  '&.cm-focused': { outline: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)', borderLeftWidth: '2px' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selection)',
  },
  '.cm-selectionMatch': { backgroundColor: 'var(--selection-faint)' },
  '.cm-searchMatch': { backgroundColor: 'var(--match)', outline: 'none' },
  '.cm-searchMatch-selected': { backgroundColor: 'var(--selection)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--muted)', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '2.4em', padding: '0 4px 0 8px' },
  '.cm-activeLine': { backgroundColor: 'var(--line)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--line)', color: 'var(--text)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--sunken)', color: 'var(--muted)', border: 'none' },
  '.cm-lint-marker': { width: '14px', height: '14px', marginTop: '3px' },
  '.cm-lint-marker-error': {
    content: ICON('<path d="M5.2 1h5.6L15 5.2v5.6L10.8 15H5.2L1 10.8V5.2z"/>', '%23d92d20'),
  },
  '.cm-lint-marker-warning': { content: ICON('<path d="M8 1.6 15.2 14.4H.8z"/>', '%23c77700') },
  '.cm-lint-marker-info': { content: ICON('<circle cx="8" cy="8" r="7"/>', '%232e75c8') },
  '.cm-lintRange-error': { ...underline('var(--error)') },
  '.cm-lintRange-warning': { ...underline('var(--warning)') },
  '.cm-lintRange-info': { ...underline('var(--advice)') },
  '.cm-lintRange-active': { backgroundColor: 'var(--selection-faint)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--edge)',
    borderRadius: '6px',
    boxShadow: 'var(--shadow)',
    maxWidth: 'min(36em, 88vw)',
    overflow: 'hidden',
  },
  '.cm-diagnostic': { padding: '6px 10px', fontFamily: 'var(--sans)', fontSize: '13px', lineHeight: '1.45' },
  '.cm-diagnostic-error': { borderLeft: '4px solid var(--error)' },
  '.cm-diagnostic-warning': { borderLeft: '4px solid var(--warning)' },
  '.cm-diagnostic-info': { borderLeft: '4px solid var(--advice)' },
  '.cm-diagnosticSource': {
    fontFamily: 'var(--mono)',
    fontSize: '12px',
    opacity: '1',
    color: 'var(--muted)',
  },
  '.cm-diagnosticAction': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
    borderRadius: '4px',
    padding: '2px 8px',
    margin: '4px 0 2px',
    display: 'block',
    cursor: 'pointer',
    font: '500 12px var(--sans)',
  },
  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--text)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--edge)' },
  '.cm-panel.cm-search': { fontFamily: 'var(--sans)', padding: '6px 32px 6px 12px' },
  '.cm-panel.cm-search input, .cm-panel.cm-search button, .cm-panel.cm-search label': {
    fontFamily: 'inherit',
    fontSize: '13px',
  },
  '.cm-textfield': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--control)',
    borderRadius: '4px',
  },
  '.cm-button': {
    background: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--control)',
    borderRadius: '4px',
  },
  '.cm-panel.cm-search [name=close]': { color: 'var(--text)' },
  '.cm-panel.cm-panel-lint ul [aria-selected]': { backgroundColor: 'var(--selection)', color: 'var(--text)' },
})

function underline(colour: string) {
  return {
    backgroundImage: 'none',
    textDecoration: `underline wavy ${colour} 1px`,
    textUnderlineOffset: '3px',
  }
}
