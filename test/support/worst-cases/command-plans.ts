/**
 * Compact descriptions of runs of the CLI: arguments, the old and the new folder of files, and messages of an editor.
 */

import { COMMANDS } from '../../../src/cli/commands.ts'
import type { Plan } from './genes.ts'
import type { Random } from './random.ts'
import { mutateText, renderText, type Text } from './texts.ts'
import { describeTree, mutateTree, render, resourceTree, SAMPLES, type Tree, type TreePlan } from './trees.ts'

/** A request or notification of an editor about a file of the new folder. */
export interface Message {
  readonly ask:
    | 'open'
    | 'insert'
    | 'replace'
    | 'codeAction'
    | 'hover'
    | 'completion'
    | 'references'
    | 'definition'
    | 'rename'
  /** The number of the file, and the relative position in its lines, from 0 to 1. */
  readonly file: number
  readonly at: number
  readonly text: Text
  readonly times: number
}

export interface CommandPlan {
  /** A key of LINES. */
  readonly line: string
  readonly tree: TreePlan
  /** The old folder; if undefined, the new one with its resources in their stored states. */
  readonly old?: TreePlan
  /** The argument of `explain`, or the claims for `role` and `access`. */
  readonly text: Text
  readonly messages: readonly Message[]
}

/** A run of the CLI: its arguments, and the files of its folder. */
export interface Run {
  readonly args: readonly string[]
  readonly files: Tree
  readonly bytes: number
  /** The number of line ends, colons, commas and brackets in the files. */
  readonly marks: number
  /** How often the files are read: once, and again for each message of an editor. */
  readonly rounds: number
  readonly messages: readonly (Omit<Message, 'text' | 'file'> & {
    readonly file: string
    readonly text: string
  })[]
}

/** The arguments with which each command reads the folder `new/`, and `old/` with the old state. */
const ARGUMENTS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  check: [
    ['new'],
    ['--strict', '--advice', '--show-ignored', 'new'],
    ['--no-ignores', '--config-file', 'off', 'new'],
  ],
  fix: [['new'], ['--write', 'new'], ['--add-defaults', 'new']],
  plan: [['new'], ['old', 'new'], ['--together', 'old', 'new']],
  access: [
    ['old', 'new'],
    ['--who', '*', 'new'],
    ['--claims', 'claims.json', 'old', 'new'],
  ],
  steps: [
    ['old', 'new'],
    ['--tool', 'kubectl', 'old', 'new'],
  ],
  role: [['--config', 'new/a.yaml', '--claims', 'claims.json']],
  probe: [['--list', 'new']],
  replay: [['log.json']],
  explain: [['TEXT']],
  completion: [['bash']],
  lsp: [['--stdio']],
}

/** The commands that read no files of the user: they ask a cluster, serve a page, or call other commands. */
export const WITHOUT_TREE = ['audit', 'doctor', 'uninstall', 'playground', 'mcp', 'init']

/** The arguments of each command with each output format, by the command line. */
export const LINES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(ARGUMENTS).flatMap(([name, ways]) =>
    outputsOf(name).flatMap((output) =>
      ways.map((args) => {
        const line = [name, ...output, ...args]
        return [line.join(' '), line] as const
      }),
    ),
  ),
)

/** The arguments `--output X` for each format of the command; one empty list for a command without that flag. */
export function outputsOf(name: string): string[][] {
  const { output } = (COMMANDS.get(name)?.flags ?? {}) as { output?: { argument?: string } }
  return (output?.argument?.split('|') ?? []).map((each) => ['--output', each]).concat(output ? [] : [[]])
}

const LINE_NAMES = [...LINES.keys()]
const isOfEditor = (line: string): boolean => line.startsWith('lsp')

const plain = (text: string): Text => [{ text, times: 1 }]

const ASKS = [
  'open',
  'insert',
  'replace',
  'codeAction',
  'hover',
  'completion',
  'references',
  'definition',
  'rename',
] as const

/** Plans for the command lines with each of SAMPLES and with files of resources. */
export function firstPlans(random: Random, resources: readonly Plan[]): CommandPlan[] {
  const trees = [
    ...SAMPLES,
    ...Array.from({ length: 40 }, () => resourceTree(random.pick(resources), random)),
  ]
  const made = trees.flatMap((tree, i): CommandPlan[] => {
    const lines = LINE_NAMES.filter((_, at) => (at + i) % 4 === 0)
    return [...lines, 'lsp --stdio'].map((line) => planFor(line, tree, random))
  })
  return random.shuffled(made)
}

function planFor(line: string, tree: TreePlan, random: Random): CommandPlan {
  const messages = isOfEditor(line)
    ? [...Array.from({ length: 6 }, () => messageOf(random)), messageOf(random, 'codeAction')]
    : []
  return { line, tree, text: plain('{"groups":["admins"]}'), messages }
}

const messageOf = (random: Random, ask: Message['ask'] = random.pick(ASKS)): Message => ({
  ask,
  file: random.below(8),
  at: random.pick([0, 0.5, 0.9, 1]),
  text: plain(random.pick(['a', ' ', '\n', 'b: c\n', '---\n', '# vmcp-admission: ignore[a] b\n'])),
  times: random.chance(0.7) ? 1 : random.size(20),
})

export function mutateCommand(
  plan: CommandPlan,
  random: Random,
  { donors, resources }: { readonly donors: readonly CommandPlan[]; readonly resources: readonly Plan[] },
): CommandPlan {
  const { messages } = plan
  switch (random.below(isOfEditor(plan.line) ? 14 : 10)) {
    case 0:
      return { ...plan, line: random.pick(LINE_NAMES) }
    case 1: {
      const { old, ...rest } = plan
      return old !== undefined && random.chance(0.5) ? rest : { ...plan, old: random.pick(donors).tree }
    }
    case 2:
      return { ...plan, old: mutateTree(plan.old ?? plan.tree, random, resources) }
    case 3:
      return { ...plan, text: mutateText(plan.text, random) }
    case 10:
    case 11:
      return { ...plan, messages: [...messages, messageOf(random)].slice(-30) }
    case 12: {
      const at = random.below(messages.length)
      const chosen = messages[at] ?? messageOf(random)
      const times = Math.min(200, chosen.times * 4)
      return { ...plan, messages: messages.toSpliced(at, 1, { ...chosen, times }) }
    }
    case 13: {
      const at = random.below(messages.length)
      const chosen = messages[at] ?? messageOf(random)
      const text = mutateText(chosen.text, random)
      return { ...plan, messages: messages.toSpliced(at, 1, { ...chosen, text }) }
    }
    default:
      return { ...plan, tree: mutateTree(plan.tree, random, resources) }
  }
}

/** The longest argument that Linux accepts (MAX_ARG_STRLEN), and the longest text that the editor inserts. */
const LONGEST_TEXT = 100_000

export function runOf({ line, tree, old, text, messages }: CommandPlan): Run {
  const written = renderText(text, { item: 0, round: 0 }, LONGEST_TEXT).replaceAll('\0', '')
  const newer = render(tree, false)
  const isCompared = line.includes('old')
  const files = new Map<string, string>()
  for (const [name, content] of newer) files.set(`new/${name}`, content)
  if (isCompared) for (const [name, content] of render(old ?? tree, true)) files.set(`old/${name}`, content)
  if (line.includes('claims.json')) files.set('claims.json', written)
  if (line.includes('log.json')) files.set('log.json', logOf([...newer.values()].join('\n')))
  const names = [...newer.keys()]
  return {
    args: (LINES.get(line) ?? []).map((arg) => (arg === 'TEXT' ? written : arg)),
    files,
    bytes: [...files.values()].reduce((sum, content) => sum + Buffer.byteLength(content), written.length),
    marks: [...files.values()].reduce((sum, content) => sum + (content.match(/[\n\r:,[{]/g)?.length ?? 0), 0),
    rounds: messages.reduce((sum, { times }) => sum + times, 1),
    messages: messages.map((each) => ({
      ...each,
      file: names[each.file % names.length] ?? 'a.yaml',
      text: renderText(each.text, { item: 0, round: 0 }, LONGEST_TEXT),
    })),
  }
}

/**
 * An audit log with an event for the creation of each object in the text, one a line; lines without an object are
 * copied.
 */
const logOf = (lines: string): string =>
  lines
    .split('\n')
    .map((line) => {
      const kind = /"kind":"(\w+)"/.exec(line)?.[1]
      if (kind === undefined) return line
      const objectRef = `{"apiGroup":"toolhive.stacklok.dev","resource":"${kind.toLowerCase()}s","namespace":"default","name":"a"}`
      return `{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"create","stage":"ResponseComplete","requestURI":"/","objectRef":${objectRef},"responseStatus":{"code":201},"responseObject":${line}}`
    })
    .join('\n')

/** The command line and its files as text for people. */
export function describeCommand({ line, tree, old, messages }: CommandPlan): string {
  const asks = messages.map(({ ask, times }) => (times > 1 ? `${times} × ${ask}` : ask)).join(', ')
  return [`\`${line}\``, describeTree(tree), old && `before: ${describeTree(old)}`, asks]
    .filter(Boolean)
    .join('; ')
}
