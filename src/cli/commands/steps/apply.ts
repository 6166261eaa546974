import { spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline/promises'
import { type Environment, UsageError } from '../../../configuration/flags.ts'
import { isObject } from '../../../rule/index.ts'
import type { PlanStep, StepsPlan } from '../../../steps/plan.ts'
import { findProgram } from '../../input/program.ts'
import { counted, EXIT } from '../../output/report.ts'
import { stepLine } from '../../output/steps.ts'
import { visible, visibleLines } from '../../output/visible.ts'

interface Applying {
  readonly kubeconfig: string
  readonly yes: boolean
}

/**
 * Applies the steps in sequence with kubectl, and stops at the first step that fails; returns the exit code of the
 * command. Throws UsageError.
 */
export async function applySteps(
  plan: StepsPlan,
  { kubeconfig, yes }: Applying,
  environment: Environment,
): Promise<number> {
  const { outcome, steps } = plan
  if (outcome === 'nothing') return EXIT.clean
  if (outcome === 'refused' || outcome === 'contradiction') return EXIT.findings
  if (outcome === 'harm' && yes) {
    process.stderr.write('nothing is applied: the plan gives something up; without --yes you are asked\n')
    return EXIT.findings
  }
  if (!yes && !(await isAgreed(steps))) return EXIT.findings
  for (const step of steps) {
    const failure = run(step, kubeconfig, environment)
    if (failure === undefined) {
      process.stderr.write(`${visible(`done: ${stepLine(step)}`)}\n`)
      continue
    }
    const done = step.number === 1 ? 'nothing was applied' : `the steps before it are applied`
    process.stderr.write(`${visibleLines(failure.trimEnd())}\n`)
    process.stderr.write(
      `step ${step.number} of ${steps.length} failed: ${done}; run the command again to go on from here\n`,
    )
    return EXIT.findings
  }
  return EXIT.clean
}

async function isAgreed(steps: readonly PlanStep[]): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UsageError('--apply asks on a terminal first: write --yes where there is none')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`Apply ${counted(steps.length, 'step')} to the cluster? [y/N] `)
  terminal.close()
  if (/^y(es)?$/i.test(answer.trim())) return true
  process.stderr.write('nothing is applied\n')
  return false
}

/** Runs one step with kubectl; returns undefined on success, otherwise the error message of kubectl. */
function run(
  { kind, namespace, name, value, before, after }: PlanStep,
  kubeconfig: string,
  environment: Environment,
): string | undefined {
  const cluster = kubeconfig === '' ? [] : [`--kubeconfig=${kubeconfig}`]
  const { apiVersion } = (value ?? before) as { readonly apiVersion: string }
  const what =
    value === undefined
      ? ['delete', `${kind}.${apiVersion.split('/').toReversed().join('.')}`, name]
      : ['apply', '-f', '-']
  const kubectl = findProgram('kubectl', environment, process.cwd())
  if (kubectl === undefined) return 'there is no kubectl in PATH, which --apply needs'
  const { status, stdout, stderr, error } = spawnSync(
    kubectl,
    [...cluster, '--namespace', namespace, ...what],
    {
      input: value === undefined ? '' : JSON.stringify(withRemovals(value, before, after)),
      encoding: 'utf8',
      env: environment,
    },
  )
  if (error !== undefined) return `kubectl could not be started, which --apply needs: ${error.message}`
  // Prints warnings of the webhook, which are on kubectl's standard error.
  if (status === 0 && stderr !== '') process.stderr.write(visibleLines(stderr))
  return status === 0 ? undefined : stderr || stdout
}

/**
 * The manifest, with null for each field of its spec that the step removes: kubectl apply removes a field only if it is
 * null, or if kubectl wrote it.
 */
function withRemovals(value: unknown, before: unknown, after: unknown): unknown {
  if (!isObject(value) || !isObject(before) || !isObject(after)) return value
  return { ...value, spec: withNulls(value.spec ?? {}, before.spec, after.spec ?? {}) }
}

function withNulls(value: unknown, before: unknown, after: unknown): unknown {
  if (!isObject(value) || !isObject(before) || !isObject(after)) return value
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name))
  return Object.fromEntries([
    ...removed.map((name): [string, unknown] => [name, null]),
    ...Object.entries(value).map(([name, part]): [string, unknown] => [
      name,
      withNulls(part, before[name], after[name]),
    ]),
  ])
}
