import { TextDocument } from 'vscode-languageserver-textdocument'
import { rangeAt } from '../../cli/lsp/lines.ts'
import { foldCauses } from '../../cli/output/fold.ts'
import { describedAs } from '../../cli/output/id-page.ts'
import { inFileOrder } from '../../cli/output/line.ts'
import { counted, type Located, type ReportedFinding } from '../../cli/output/report.ts'
import { applyFixes } from '../../cli/fix/fix-all.ts'
import { countText } from '../counts.ts'
import { dataOf, element, h } from '../dom.ts'
import { type CardOptions, findingList, textOf } from '../finding-cards.ts'
import { legend, planSection } from '../plans.ts'
import { type PackedReleases, unpackRelease } from '../releases.ts'
import { startTabs } from '../tabs.ts'
import { startTheme } from '../theme.ts'
import { showDefaults } from './defaults-panel.ts'
import { Editor, type Mark } from './editor.ts'
import { examplesOfRule, firstExample, type PageExample, startExamples } from './examples.ts'
import { FILE, type JudgedText, judgeText } from './judged.ts'
import { RolePanel } from './role-panel.ts'

/** Milliseconds after the last change before the text is judged. */
const PAUSE = 120

const releases = dataOf('releases') as PackedReleases
const chosenRelease = element('release', HTMLSelectElement)
const status = element('status', HTMLElement)
const rolePanel = new RolePanel()
let timer: ReturnType<typeof setTimeout> | undefined

const editor = new Editor(element('editor', HTMLElement), () => {
  clearTimeout(timer)
  timer = setTimeout(judge, PAUSE)
})

function judge(): void {
  clearTimeout(timer)
  const judged = judgeText(editor.text, unpackRelease(releases, chosenRelease.value))
  showFindings(judged)
  showPlans(judged)
  badgeOf(
    'defaults',
    showDefaults(element('panel-defaults', HTMLElement), judged, () => {
      editor.replace(judged.completed)
      editor.focus()
    }),
  )
  rolePanel.show(judged, chosenRelease.value)
}

/** Shows a number on a tab, and nothing for 0. */
function badgeOf(tab: string, count: number): void {
  element(`count-${tab}`, HTMLElement).textContent = count === 0 ? '' : String(count)
}

function showFindings(judged: JudgedText): void {
  const { report, text } = judged
  const { findings, unread, ignored, judged: resources } = report
  const notes = [
    ...report.notes,
    ...ignored.map((each) => ({ ...each, message: `ignored: ${each.message} ${each.reason}` })),
  ]
  const document = TextDocument.create('file:///text', 'yaml', 0, text)
  const offsets = (place: Located) => {
    const { start, end } = rangeAt(document, place)
    return [document.offsetAt(start), document.offsetAt(end)] as const
  }
  const goTo = (place: Located) => {
    editor.select(...offsets(place))
  }
  const problems = unread.map((each) => ({ ...each, message: `cannot read: ${each.message}` }))
  editor.mark([
    ...problems.map((each) => markOf(each, 'error', 'unreadable', offsets)),
    ...findings.map((finding) => ({
      ...markOf(finding, finding.severity === 'advice' ? 'info' : finding.severity, finding.id, offsets),
      message: `${finding.path === '' ? '' : `${finding.path}: `}${textOf(finding)}`,
      fix: finding.fix === null ? undefined : { title: finding.fix.title, run: fixer(finding) },
    })),
    ...notes.map((note) => markOf(note, 'info', 'note', offsets)),
  ])
  const isEmpty = resources.length + problems.length + findings.length === 0
  const said = isEmpty
    ? 'Nothing to judge yet'
    : [
        ...(problems.length === 0 ? [] : [`${problems.length} that cannot be read`]),
        `${countText(findings)} in ${counted(resources.length, 'resource')}`,
      ].join(', ')
  if (status.textContent !== said) status.textContent = said
  status.dataset.worst =
    problems.length > 0
      ? 'error'
      : (['error', 'warning'].find((each) => findings.some(({ severity }) => severity === each)) ?? 'none')
  badgeOf('findings', problems.length + findings.filter(({ severity }) => severity !== 'advice').length)
  const options: CardOptions = {
    aboutOf: describedAs,
    goTo,
    actionsOf: fixButton,
    examplesOf: exampleButtons,
  }
  const told = foldCauses(findings.toSorted(inFileOrder(report)))
  const shown = told.filter(({ finding }) => finding.severity !== 'advice')
  const advice = told.filter(({ finding }) => finding.severity === 'advice')
  element('panel-findings', HTMLElement).replaceChildren(
    ...problems.map((each) => placeLine(each, 'problem', goTo)),
    ...findingList(shown, options),
    ...(isEmpty
      ? [h('p', { class: 'empty' }, 'Write or paste manifests, open files, or load an example.')]
      : shown.length + problems.length === 0
        ? [
            h(
              'p',
              { class: 'empty good' },
              `No errors and no warnings in ${counted(resources.length, 'resource')}.`,
            ),
          ]
        : []),
    ...(advice.length === 0
      ? []
      : [
          h(
            'details',
            { class: 'advice', open: shown.length === 0 },
            h('summary', {}, `Advice for production (${advice.length})`),
            ...findingList(advice, options),
          ),
        ]),
    ...(notes.length === 0
      ? []
      : [
          h(
            'section',
            { class: 'notes' },
            h('h3', {}, 'Notes'),
            ...notes.map((note) => placeLine(note, 'note', goTo)),
          ),
        ]),
  )
}

function markOf(
  place: Located,
  severity: Mark['severity'],
  id: string,
  offsets: (place: Located) => readonly [number, number],
): Mark {
  const [from, to] = place.line === 0 ? [0, 0] : offsets(place)
  return { from, to, severity, id, message: place.message }
}

const placeLine = (place: Located, style: string, goTo: (place: Located) => void): HTMLElement =>
  h(
    'p',
    { class: style },
    place.message,
    ' ',
    place.line === 0
      ? undefined
      : h(
          'button',
          {
            type: 'button',
            class: 'place',
            onclick: () => {
              goTo(place)
            },
          },
          `line ${place.line}`,
        ),
  )

/** Returns a function that applies the fix of this finding. */
const fixer = (finding: ReportedFinding) => () => {
  const texts = new Map([[FILE, editor.text]])
  applyFixes(texts, [finding])
  editor.replace(texts.get(FILE) ?? editor.text)
  editor.focus()
}

const fixButton = (finding: ReportedFinding) =>
  finding.fix === null
    ? undefined
    : h('button', { type: 'button', class: 'fix', onclick: fixer(finding) }, `Fix: ${finding.fix.title}`)

/** Buttons that open a valid and an invalid example of a rule. */
function exampleButtons(id: string): HTMLElement | undefined {
  const examples = examplesOfRule(id)
  const chosen = [examples.find(({ isValid }) => isValid), examples.find(({ isValid }) => !isValid)]
  const buttons = chosen.flatMap((example) =>
    example === undefined
      ? []
      : [
          h(
            'button',
            {
              type: 'button',
              class: 'quiet',
              onclick: () => {
                open(example)
              },
            },
            `${example.isValid ? 'Correct' : 'Wrong'}: ${example.title}`,
          ),
        ],
  )
  return buttons.length === 0 ? undefined : h('p', { class: 'examples-of' }, 'Load an example: ', ...buttons)
}

function showPlans({ plans }: JudgedText): void {
  badgeOf('plans', 0)
  element('panel-plans', HTMLElement).replaceChildren(
    ...(plans.length === 0
      ? [h('p', { class: 'empty' }, 'There is no VirtualMCPServer in the text.')]
      : [legend(), ...plans.map(planSection)]),
  )
}

function open(example: PageExample): void {
  editor.open(example.text())
  judge()
  editor.focus()
}

/** Shows files in the editor as one text, with `---` between them. The page never uploads them. */
async function openFiles(files: readonly File[]): Promise<void> {
  if (files.length === 0) return
  const texts = await Promise.all(files.map((file) => file.text()))
  editor.open(texts.map((text) => (text.endsWith('\n') ? text : `${text}\n`)).join('---\n'))
  judge()
  editor.focus()
}

function startFiles(): void {
  const input = element('files', HTMLInputElement)
  element('files-open', HTMLButtonElement).addEventListener('click', () => {
    input.click()
  })
  input.addEventListener('change', () => {
    void openFiles([...(input.files ?? [])])
    input.value = ''
  })
  document.addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault()
  })
  document.addEventListener('drop', (event) => {
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length === 0) return
    event.preventDefault()
    void openFiles(files)
  })
}

startTheme()
startTabs(element('tabs', HTMLElement))
startExamples(open)
startFiles()
chosenRelease.append(
  ...Object.keys(releases.schemas)
    .toReversed()
    .map((minor) => h('option', { value: minor }, `release ${minor}`)),
)
chosenRelease.addEventListener('change', judge)
const first = firstExample()
if (first !== undefined) editor.open(first.text())
judge()
