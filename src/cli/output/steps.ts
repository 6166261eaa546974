import type { ToolAnswer } from '../../steps/answers.ts'
import type { GivenUp, PlanStep, StepsPlan } from '../../steps/plan.ts'
import { counted } from './report.ts'
import { json, markdownCode, visible } from './visible.ts'

const TOOL_NAMES = { kubectl: 'kubectl', flux: 'Flux', argocd: 'Argo CD' } as const

const lines = (texts: readonly string[]): string => texts.map((line) => `${visible(line)}\n`).join('')

/** A step in one line: `update VirtualMCPServer default/tools: the new version, which keeps …`. */
export function stepLine({ verb, kind, namespace, name, words }: PlanStep): string {
  return `${verb} ${kind} ${namespace}/${name}${words === '' ? '' : `: ${words}`}`
}

/**
 * The plan for people: the commits with their steps, why one commit is not enough, and the harms that no order avoids,
 * such as a backend that is without credentials between two steps.
 */
export function stepsText(plan: StepsPlan): string {
  const commits = Map.groupBy(plan.steps, ({ commit }) => commit)
  return lines([
    ...Array.from(commits, ([commit, steps]) => [
      `commit ${commit}`,
      ...steps.map((step) => `  ${step.number}. ${stepLine(step)}`),
    ]).flat(),
    ...(commits.size === 0 ? [] : ['']),
    ...section('as one commit', asOneLines(plan)),
    ...section(
      'given up',
      plan.givenUp.map((each) => `  ${givenUpText(each, plan)}`),
    ),
    ...section(
      'the new state contradicts itself',
      plan.errors.map((error) => `  ${error}`),
    ),
    summary(plan),
  ])
}

const section = (title: string, texts: readonly string[]): string[] =>
  texts.length === 0 ? [] : [title, ...texts, '']

/** Lines about why one commit is not enough; none when one commit is enough with every deployment tool. */
function asOneLines({ asOne, commits }: StepsPlan): string[] {
  if (commits < 2 && asOne.every(({ problem }) => problem === undefined)) return []
  const same = Map.groupBy(asOne, (answer) => JSON.stringify([answerText(answer), waveTexts(answer)]))
  return Array.from(same.values(), (answers) => {
    const names = answers.map(({ tool }) => TOOL_NAMES[tool]).join(', ')
    return answers
      .slice(0, 1)
      .flatMap((answer) => [
        `  ${names}: ${answerText(answer)}`,
        ...waveTexts(answer).map((text) => `    ${text}`),
      ])
  }).flat()
}

const answerText = ({ problem }: ToolAnswer): string => problem ?? 'passes'

function waveTexts({ waves, isPruneLast }: ToolAnswer): string[] {
  if (waves === undefined) return []
  const later = waves.filter(({ wave }) => wave > 0)
  return [
    'it passes as one commit with:',
    ...later.map(
      ({ kind, namespace, name, wave }) =>
        `  argocd.argoproj.io/sync-wave: "${wave}" on ${kind} ${namespace}/${name}`,
    ),
    ...(isPruneLast ? ['  PruneLast=true in syncOptions of the Application'] : []),
  ]
}

function givenUpText({ text, why, after, until }: GivenUp, { steps }: StepsPlan): string {
  const when = after === until ? `after step ${after}` : `between steps ${after} and ${until}`
  const isLast = after === until && after === steps.length
  return `${isLast ? 'at the end' : when}: ${text}${why === '' ? '' : ` (${why})`}`
}

function summary({ outcome, steps, commits, isComplete, states }: StepsPlan): string {
  const tried = `(all ${counted(states, 'state')} were tried)`
  const within = `was found within ${counted(states, 'state')}`
  switch (outcome) {
    case 'nothing':
      return 'no object changes'
    case 'order':
      return `${counted(steps.length, 'step')} in ${counted(commits, 'commit')}: every step is admitted, and meanwhile nobody loses or gains access`
    case 'harm':
      return `${counted(steps.length, 'step')} in ${counted(commits, 'commit')}: every step is admitted; ${isComplete ? `no order keeps everything ${tried}, this one gives up the least` : `no order that keeps everything ${within}, and this one gives up the least of those found`}`
    case 'refused':
      return `no order that the webhook admits ${isComplete ? tried : within}`
    case 'contradiction':
      return 'no steps: mend the new state first'
  }
}

/** The plan as a comment on a pull request. */
export function stepsMarkdown(plan: StepsPlan): string {
  const commits = Map.groupBy(plan.steps, ({ commit }) => commit)
  const asOne = asOneLines(plan)
  const items = (texts: readonly string[]) => texts.map((text) => `- ${markdownCode(text)}`)
  return `${[
    `**${summary(plan)}**`,
    ...Array.from(commits, ([commit, steps]) => [
      '',
      `Commit ${commit}`,
      '',
      ...steps.map((step) => `${step.number}. ${markdownCode(stepLine(step))}`),
    ]).flat(),
    ...(asOne.length === 0 ? [] : ['', 'As one commit:', '', '```text', ...asOne.map(visible), '```']),
    ...(plan.givenUp.length === 0
      ? []
      : ['', 'Given up:', '', ...items(plan.givenUp.map((each) => givenUpText(each, plan)))]),
    ...(plan.errors.length === 0 ? [] : ['', 'The new state contradicts itself:', '', ...items(plan.errors)]),
  ].join('\n')}\n`
}

export function stepsJson({ steps, asOne, ...plan }: StepsPlan): string {
  const shown = {
    version: 1,
    ...plan,
    steps: steps.map(({ number, commit, verb, kind, namespace, name, words, value }) => ({
      ...{ number, commit, verb, kind, namespace, name },
      version: words === '' ? null : words,
      object: value ?? null,
    })),
    asOneCommit: asOne.map(({ tool, problem, waves, isPruneLast }) => ({
      tool,
      passes: problem === undefined,
      problem: problem ?? null,
      waves: waves ?? null,
      pruneLast: isPruneLast,
    })),
  }
  return json(shown)
}
