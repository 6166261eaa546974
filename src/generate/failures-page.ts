import { allRules } from '../kinds/places.ts'
import { CONSEQUENCES, type KnownFailure, type Rule } from '../rule/index.ts'
import type { GeneratedFile } from './generated-file.ts'
import { GENERATED, idLink, page, table } from './markdown.ts'

const INTRODUCTION = `The index of rules by symptom: setups that people ran and that failed, by who tells them so today. Search this page for what
you see. The page of the rule says what must be true, with a wrong and a right manifest and the public threads.
[The index by kind](rules/README.md) has all rules, also those whose failure nobody has reported.

The consequence decides the severity. What does not start, denies everyone, lets anyone in or takes somebody for another is an error
where the manifest alone shows it, else a warning; what degrades is a warning or advice. Where the release is named or installed,
warnings of what fails for certain are errors ([decision 9](decisions.md#decision-9)).`

/** Who reports a failure to the user; ordered from never (nobody) to at once (the API server). */
const REPORTED: readonly {
  readonly by: KnownFailure['reportedBy']
  readonly title: string
  readonly about: string
}[] = [
  {
    by: 'nobody',
    title: 'Nobody says it',
    about: 'Everything is reported as ready; requests fail, or more is allowed than was meant.',
  },
  {
    by: 'start-up',
    title: 'The container ends at its start',
    about: 'The pod is in CrashLoopBackOff, or never starts; the resource does not say why.',
  },
  {
    by: 'operator',
    title: 'The operator says it later',
    about: '`kubectl apply` succeeds; a condition of the resource names the mistake.',
  },
  {
    by: 'API server',
    title: 'The API server says it',
    about: 'Where the CustomResourceDefinitions of the release are installed, `kubectl apply` fails.',
  },
]

/** docs/failures.md: the failures that people reported, each with the rule that finds it. */
export function failuresPage(): GeneratedFile {
  const failing = allRules().flatMap((rule) =>
    rule.failure === undefined ? [] : [{ ...rule, failure: rule.failure }],
  )
  const sections = REPORTED.flatMap(({ by, title, about }) => {
    const rows = failing.filter(({ failure }) => failure.reportedBy === by)
    return rows.length === 0 ? [] : [`## ${title}`, about, failureTable(rows)]
  })
  const text = page([GENERATED, '# What goes wrong in practice', INTRODUCTION, ...sections])
  return { path: 'docs/failures.md', text }
}

/** The rank of a failure by its consequence, the worst first. */
const rank = ({ consequence }: KnownFailure): number => Object.keys(CONSEQUENCES).indexOf(consequence)

const failureTable = (rules: readonly (Rule & { readonly failure: KnownFailure })[]) =>
  table(
    ['What is seen', 'Consequence', 'Releases', 'Rule'],
    rules
      .toSorted((a, b) => rank(a.failure) - rank(b.failure))
      .map(({ id, severity, failure: { symptom, releases, consequence } }) => [
        symptom,
        `${consequence}: ${severity}`,
        releases ?? 'all',
        idLink(id),
      ]),
  )
