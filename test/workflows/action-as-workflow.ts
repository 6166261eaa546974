import { readFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'

interface Action {
  readonly inputs?: Readonly<Record<string, object>>
  readonly outputs?: Readonly<Record<string, { readonly value: string }>>
  readonly runs: { readonly steps: readonly object[] }
}

// actionlint checks workflows only, so this prints a workflow with the inputs and steps of a composite action, and a
// step that uses its outputs.
const { inputs = {}, outputs = {}, runs } = parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Action
const typed = Object.entries(inputs).map(([name, input]) => [name, { ...input, type: 'string' }])
const uses = Object.values(outputs).map(({ value }) => ({ run: 'true', env: { VALUE: value } }))
const on = { workflow_call: { inputs: Object.fromEntries(typed) as object } }
const job = { 'runs-on': 'ubuntu-latest', steps: [...runs.steps, ...uses] }
process.stdout.write(stringify({ on, jobs: { action: job } }, { lineWidth: 0 }))
