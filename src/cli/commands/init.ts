import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { FILE_NAME } from '../../configuration/file.ts'
import { isNamespaceName, text, UsageError } from '../../configuration/flags.ts'
import { JUDGING_FLAGS } from '../../configuration/judging.ts'
import { knownRelease } from '../../configuration/known-releases.ts'
import { API_VERSION } from '../../kinds/index.ts'
import { errorMessage } from '../../rule/index.ts'
import { defineCommand, type Invocation } from '../define-command.ts'
import { newestRelease } from '../input/release.ts'
import { EXIT } from '../output/report.ts'
import { visible } from '../output/visible.ts'
import { PROGRAM } from '../program-name.ts'
import {
  BACKENDS,
  backendsText,
  gatewayText,
  problemWith,
  PROVIDERS,
  type InitSetup,
} from './init/templates.ts'

/** The most characters in the name of the gateway: names made from it, such as NAME-exchange, have at most 63. */
const LONGEST = 50

function readName(written: string): string {
  if (!isNamespaceName(written) || written.length > LONGEST)
    throw new Error(`'${written}' is not a name of at most ${LONGEST} lower-case letters, digits and '-'`)
  return written
}

function readOneOf<T extends string>(choices: readonly T[], written: string): T {
  const found = choices.find((each) => each === written)
  if (found === undefined) throw new Error(`'${written}' is not one of ${choices.join(', ')}`)
  return found
}

function readUrl(written: string): string {
  const url = URL.canParse(written) ? new URL(written) : undefined
  if (url?.protocol !== 'https:' || url.origin !== written)
    throw new Error(`'${written}' is not an https URL without a path, such as https://mcp.example.com`)
  return written
}

/** A setting for which `init` asks on a terminal when its flag is not given. */
const asked = <T>(help: string, argument: string, usual: string, read: (written: string) => T) => ({
  help: `${help}; ${usual} by default`,
  argument,
  fallback: undefined,
  read,
  question: `${help} [${usual}]`,
  usual,
})

const ASKED = {
  gateway: asked('name of the gateway, a VirtualMCPServer', 'NAME', 'gateway', readName),
  group: asked('name of the MCPGroup of its backends', 'NAME', 'tools', readName),
  url: asked('URL by which clients reach it', 'URL', 'https://mcp.example.com', readUrl),
  provider: asked(`where users log in: ${PROVIDERS.join(', ')}`, 'PROVIDER', 'okta', (written) =>
    readOneOf(PROVIDERS, written),
  ),
  backends: asked(
    `credentials of backends, one or several of ${BACKENDS.join(',')}`,
    'LIST',
    'header',
    (written) => [...new Set(written.split(',').map((each) => readOneOf(BACKENDS, each.trim())))],
  ),
}

type Asked = { readonly [K in keyof typeof ASKED]: ReturnType<(typeof ASKED)[K]['read']> }
type Given = { readonly [K in keyof Asked]?: Asked[K] | undefined }

const FLAGS = {
  ...ASKED,
  release: text('release of the operator, such as 0.63; the newest that is known by default', 'VERSION', ''),
  'api-group': JUDGING_FLAGS['api-group'],
  write: text(
    'write files into this folder, where none of them may exist, in place of printing them',
    'DIR',
    '',
  ),
}

export const init = defineCommand({
  name: 'init',
  summary: 'write a small setup to begin with, which checks clean',
  arguments: [['[flags]', 'write a small setup to begin with, which checks clean; on a terminal it asks']],
  words: [],
  flags: FLAGS,
  examples: ['--provider okta --backends exchange,header --write deploy'],
  exitCodes: { 0: 'written', 3: 'cannot write' },
  run: writeSetup,
})

async function writeSetup({ flags, names }: Invocation<typeof FLAGS>): Promise<number> {
  if (names.length > 0) throw new UsageError('init takes no files; --write names a folder')
  const release = flags.release === '' ? newestRelease() : knownRelease(flags.release)
  const settings = await settingsOf(flags)
  const problem = problemWith(settings)
  if (problem !== undefined) throw new UsageError(problem)
  const apiVersion = `${flags['api-group']}/${API_VERSION}`
  const setup = { ...settings, apiVersion, release: release.version ?? '' }
  if (flags.write !== '' && `${settings.gateway}.yaml` === FILE_NAME)
    throw new UsageError(
      `--write writes the gateway into ${FILE_NAME}, which is the configuration file: name it otherwise with --gateway`,
    )
  if (flags.write === '') {
    process.stdout.write(`${gatewayText(setup)}---\n${backendsText(setup)}`)
    return EXIT.clean
  }
  return write(flags.write, filesOf(setup))
}

async function settingsOf(given: Given): Promise<Asked> {
  const isComplete = Object.keys(ASKED).every((name) => given[name as keyof Asked] !== undefined)
  if (isComplete || !process.stdin.isTTY || !process.stderr.isTTY) return completed(given)
  const { ask, close } = openTerminal()
  try {
    return await completed(given, ask)
  } finally {
    close()
  }
}

/** Asks a question; resolves to undefined at the end of the input. */
export type Ask = (question: string) => Promise<string | undefined>

/** The given settings; missing ones come from answers of the user, or from defaults when there is no terminal. */
export async function completed(given: Given, ask?: Ask): Promise<Asked> {
  const settings: Record<string, unknown> = {}
  for (const [name, { question, usual, read }] of Object.entries(ASKED))
    settings[name] = given[name as keyof Asked] ?? (await answerTo(question, usual, read, ask))
  return settings as unknown as Asked
}

async function answerTo(
  question: string,
  usual: string,
  read: (written: string) => unknown,
  ask: Ask | undefined,
): Promise<unknown> {
  for (;;) {
    const answer = ask === undefined ? '' : await ask(`${question}: `)
    if (answer === undefined)
      throw new UsageError('nothing is written: the input ended before the last answer')
    try {
      return read(answer.trim() === '' ? usual : answer.trim())
    } catch (error) {
      process.stderr.write(`${visible(errorMessage(error))}\n`)
    }
  }
}

/** Asks questions on the terminal, until `close`. Lines that arrive before their question are stored as answers. */
function openTerminal(): { readonly ask: Ask; readonly close: () => void } {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const lines = terminal[Symbol.asyncIterator]()
  return {
    ask: async (question) => {
      terminal.setPrompt(question)
      terminal.prompt()
      const { value, done } = await lines.next()
      return done === true ? undefined : value
    },
    close: () => terminal.close(),
  }
}

/** The files that `init` writes, each with its name and content. */
const filesOf = (setup: InitSetup): readonly (readonly [name: string, content: string])[] => [
  [
    FILE_NAME,
    `# ${PROGRAM} judges by this release of the operator; name the one that you run.\nrelease: '${setup.release}'\n`,
  ],
  [`${setup.gateway}.yaml`, gatewayText(setup)],
  [`${setup.gateway}-backends.yaml`, backendsText(setup)],
]

function write(folder: string, files: ReturnType<typeof filesOf>): number {
  const paths = files.map(([name]) => join(folder, name))
  const there = paths.find((path) => existsSync(path))
  if (there !== undefined)
    throw new UsageError(`${there} exists, and init overwrites nothing: name another folder`)
  try {
    mkdirSync(folder, { recursive: true })
    for (const [i, [, content]] of files.entries()) writeFileSync(paths[i] ?? '', content, { flag: 'wx' })
  } catch (error) {
    process.stderr.write(
      `${visible(`vmcp-admission: cannot write into ${folder}: ${errorMessage(error)}`)}\n`,
    )
    return EXIT.unread
  }
  process.stdout.write(`${paths.map(visible).join('\n')}\n`)
  process.stderr.write(
    `${visible(`change the names under example.com; ${PROGRAM} check ${folder} judges it`)}\n`,
  )
  return EXIT.clean
}
