import { findingLine, notesIn, shownIn } from './line.ts'
import type { Format, JudgedResource, ReportedFinding } from './report.ts'
import { xml } from './visible.ts'

/**
 * JUnit XML for Jenkins and GitLab. Each file is a suite, and each resource a test case: errors become its failure,
 * other findings its output. An unreadable file is a test case with an error, and a note a skipped test case.
 */
export const printJUnit: Format = (report, printing) => {
  const findings = Map.groupBy(shownIn(report, printing), keyOf)
  // A document of a misspelt kind is not judged, but has a finding, so it needs a test case too.
  const all = [...report.judged, ...[...findings.values()].flatMap((own) => own.slice(0, 1))]
  const resources = [...new Map(all.map((each) => [keyOf(each), each])).values()]
  const suiteOf = (file: string | null) => file ?? printing.scope
  const cases = [
    ...resources.map((resource) => {
      const own = findings.get(keyOf(resource)) ?? []
      return { suite: suiteOf(resource.file), ...testCase(resource, own) }
    }),
    ...report.unread.map(({ file, message }) => ({
      suite: suiteOf(file),
      result: 'error' as const,
      text: element('testcase', { classname: 'file', name: 'can be read' }, [element('error', { message })]),
    })),
    ...notesIn(report, printing).map(({ file, line, message }, i) => ({
      suite: suiteOf(file),
      result: 'skipped' as const,
      text: element(
        'testcase',
        i < report.notJudged.length
          ? { classname: 'file', name: `line ${line} is judged` }
          : { classname: 'note', name: line === 0 ? message : `line ${line}: ${message}` },
        [element('skipped', { message })],
      ),
    })),
  ]
  const suites = [...Map.groupBy(cases, ({ suite }) => suite)].map(([name, own]) =>
    element(
      'testsuite',
      { name, ...countsOf(own) },
      own.map(({ text }) => text),
    ),
  )
  const document = element('testsuites', { name: 'vmcp-admission', ...countsOf(cases) }, suites)
  return `<?xml version="1.0" encoding="UTF-8"?>\n${document}`
}

type Result = 'passed' | 'failure' | 'error' | 'skipped'

function testCase(
  { file, kind, namespace, name }: JudgedResource,
  findings: readonly ReportedFinding[],
): { readonly result: Result; readonly text: string } {
  const lines = (own: readonly ReportedFinding[]) =>
    own.map((finding) => xml(findingLine(finding))).join('\n')
  const errors = findings.filter(({ severity }) => severity === 'error')
  const others = findings.filter(({ severity }) => severity !== 'error')
  const [first] = errors
  const text = element(
    'testcase',
    { classname: kind, name: `${namespace}/${name}`, ...(file === null ? {} : { file }) },
    [
      ...(first === undefined
        ? []
        : [element('failure', { message: first.message, type: first.id }, lines(errors))]),
      ...(others.length === 0 ? [] : [element('system-out', {}, lines(others))]),
    ],
  )
  return { result: first === undefined ? 'passed' : 'failure', text }
}

const countsOf = (cases: readonly { readonly result: Result }[]) => ({
  tests: String(cases.length),
  failures: String(cases.filter(({ result }) => result === 'failure').length),
  errors: String(cases.filter(({ result }) => result === 'error').length),
  skipped: String(cases.filter(({ result }) => result === 'skipped').length),
})

/** An XML element with other elements, or with a text, which is escaped. */
function element(
  name: string,
  attributes: Readonly<Record<string, string>>,
  content: readonly string[] | string = [],
): string {
  const start = [name, ...Object.entries(attributes).map(([key, value]) => `${key}="${xml(value)}"`)]
  if (content.length === 0) return `<${start.join(' ')}/>\n`
  return `<${start.join(' ')}>${typeof content === 'string' ? content : `\n${content.join('')}`}</${name}>\n`
}

const keyOf = ({ file, kind, namespace, name }: JudgedResource): string =>
  JSON.stringify([file, kind, namespace, name])
