import { stringify } from 'yaml'
import { allRules, examplesOf } from '../../kinds/places.ts'
import { dataOf, element, h } from '../dom.ts'

export interface PageExample {
  readonly name: string
  readonly title: string
  readonly text: () => string
}

interface Section {
  readonly title: string
  readonly examples: readonly PageExample[]
}

/** A file of `examples/` in the repository. */
export interface ExampleFile {
  readonly name: string
  readonly text: string
}

/** The first sentence of the comment at the top of a file. */
function titleOf(text: string): string {
  const lines = text.split('\n')
  const end = lines.findIndex((line) => !line.startsWith('#'))
  const comment = lines
    .slice(0, end)
    .filter((line) => !line.includes('yaml-language-server:'))
    .map((line) => line.replace(/^#\s?/, ''))
    .join(' ')
  const stop = comment.search(/[.:](?:\s|$)/)
  return stop < 0 ? comment : `${comment.slice(0, stop)}.`
}

const FILES = (dataOf('examples') as readonly ExampleFile[]).map(({ name, text }) => ({
  name,
  title: titleOf(text),
  text: () => text,
}))

const filesIn = (folder: string): readonly PageExample[] =>
  FILES.filter(({ name }) => name.slice(0, name.lastIndexOf('/') + 1) === folder)

/** The examples of a rule, each as documents for `check`. */
export const examplesOfRule = (id: string): (PageExample & { readonly isValid: boolean })[] =>
  allRules()
    .filter((rule) => rule.id === id)
    .flatMap((rule) =>
      examplesOf(rule)
        .filter(({ old }) => old === undefined)
        .map(({ title, resource, others, findings }) => ({
          name: `${id}: ${title}`,
          title,
          isValid: findings.length === 0,
          text: () =>
            [`# ${id}: ${title}\n${stringify(resource)}`, ...others.map((other) => stringify(other))].join(
              '---\n',
            ),
        })),
    )

/** The example that is shown when the page opens. */
export const firstExample = (): PageExample | undefined => filesIn('together/')[0]

const allExamples = (): Section[] => [
  { title: 'Mistakes that show at run time', examples: filesIn('together/') },
  { title: 'Correct', examples: filesIn('') },
  { title: 'One mistake each', examples: filesIn('bad/') },
  ...allRules()
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id }) => ({ title: id, examples: examplesOfRule(id) })),
]

/** Sets up the dialog with all examples and a search; `open` receives the example that the user chooses. */
export function startExamples(open: (example: PageExample) => void): void {
  const dialog = element('examples-dialog', HTMLDialogElement)
  const wanted = element('examples-search', HTMLInputElement)
  const list = element('examples-list', HTMLElement)
  const count = element('examples-count', HTMLElement)
  const show = () => {
    const words = wanted.value.toLowerCase().split(/\s+/)
    const matches = (text: string) => words.every((word) => text.toLowerCase().includes(word))
    const sections = allExamples()
      .map(({ title, examples }) => ({
        title,
        examples: examples.filter((each) => matches(`${title} ${each.name} ${each.title}`)),
      }))
      .filter(({ examples }) => examples.length > 0)
    const total = sections.reduce((sum, { examples }) => sum + examples.length, 0)
    count.textContent = `${total} examples`
    list.replaceChildren(
      ...sections.map(({ title, examples }) =>
        h(
          'section',
          {},
          h('h3', {}, title),
          h('ul', {}, ...examples.map((example) => h('li', {}, button(example)))),
        ),
      ),
    )
  }
  const button = (example: PageExample) =>
    h(
      'button',
      {
        type: 'button',
        'data-example': example.name,
        onclick: () => {
          dialog.close()
          open(example)
        },
      },
      h('span', {}, example.title),
      example.name.includes(':') ? undefined : h('code', {}, example.name),
    )
  element('examples-open', HTMLButtonElement).addEventListener('click', () => {
    wanted.value = ''
    show()
    dialog.showModal()
    wanted.focus()
  })
  element('examples-close', HTMLButtonElement).addEventListener('click', () => {
    dialog.close()
  })
  wanted.addEventListener('input', show)
}
