/** Runs the CLI as users do: in a process and a folder of its own. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node'
import { COMPILE_CACHE } from '../compile-cache.ts'
import { programFile } from '../programs.ts'
import type { Run } from './command-plans.ts'
import { cpuMsOf, reasonIn } from './judging.ts'

const MAIN = programFile('cli')
const AT_EXIT = new URL('at-exit.ts', import.meta.url).href

/** How a run ended. */
export type RunResult =
  | {
      readonly ended: 'answered'
      readonly status: number
      /** Milliseconds of CPU of the process and its children, and the peak of its memory in bytes. */
      readonly cpuMs: number
      readonly maxBytes: number
      /** Bytes printed to stdout and stderr. */
      readonly printed: number
      readonly stack?: string
    }
  | { readonly ended: 'crashed'; readonly how: string }
  | { readonly ended: 'killed'; readonly afterMs: number }

interface Limits {
  /** Milliseconds of CPU after which the process is killed; the wall-clock limit is five times as long. */
  readonly limitMs?: number
  /** The folder for V8's CPU profiles. */
  readonly profile?: string
}

/** The heap size in megabytes: above the bound, so that a run that exceeds the bound can be measured. */
const HEAP = 3_072

export async function run(
  { args, files, messages }: Run,
  { limitMs = 30_000, profile }: Limits = {},
): Promise<RunResult> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'vmcp-worst-')))
  try {
    mkdirSync(join(folder, 'tree/new'), { recursive: true })
    for (const [name, text] of files) {
      mkdirSync(dirname(join(folder, 'tree', name)), { recursive: true })
      writeFileSync(join(folder, 'tree', name), text)
    }
    return await runIn(
      folder,
      { args, files, messages },
      { limitMs, ...(profile !== undefined && { profile }) },
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runIn(
  folder: string,
  { args, files, messages }: Pick<Run, 'args' | 'files' | 'messages'>,
  { limitMs, profile }: Limits & { readonly limitMs: number },
): Promise<RunResult> {
  const usage = join(folder, 'usage.json')
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${HEAP}`, ...profiling, '--import', AT_EXIT, MAIN, ...args],
    {
      cwd: join(folder, 'tree'),
      env: { ...COMPILE_CACHE, PATH: process.env.PATH, HOME: folder, USAGE_FILE: usage, CI: 'true' },
      stdio: 'pipe',
    },
  )
  let printed = 0
  let talk = ''
  const isEditor = args[0] === 'lsp'
  if (!isEditor) child.stdout.on('data', (bytes: Buffer) => (printed += bytes.length))
  child.stderr.on('data', (bytes: Buffer) => {
    printed += bytes.length
    if (talk.length < 1_000_000) talk += bytes.toString()
  })
  const closed = once(child, 'close') as Promise<[number | null, string | null]>
  const begun = performance.now()
  const end = { isLate: false }
  const timer = setInterval(() => {
    if ((cpuMsOf(child.pid) ?? 0) <= limitMs && performance.now() - begun <= 5 * limitMs) return
    end.isLate = true
    child.kill('SIGKILL')
  }, 100)
  // The CLI closes its standard input when it ends early.
  child.stdin.on('error', () => undefined)
  if (isEditor) await talkTo(child, join(folder, 'tree/new'), messages, files)
  else child.stdin.end()
  const [status, signal] = await closed
  clearInterval(timer)
  if (end.isLate) return { ended: 'killed', afterMs: limitMs }
  if (status === null || /\n {4}at .*\n {4}at /.test(talk) || ![0, 1, 2, 3].includes(status))
    return { ended: 'crashed', how: `${signal ?? status}: ${reasonIn(talk)}` }
  const measured = JSON.parse(readFileSync(usage, 'utf8')) as {
    readonly cpuMs: number
    readonly maxBytes: number
  }
  return { ended: 'answered', status, ...measured, printed }
}

/**
 * Acts as the editor: opens each file that a message is about, and ends when all answers and diagnostics have arrived.
 */
async function talkTo(
  child: ChildProcess,
  folder: string,
  messages: Run['messages'],
  files: Run['files'],
): Promise<void> {
  if (child.stdout === null || child.stdin === null) throw new Error('an editor needs both streams')
  const connection = createMessageConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  )
  const gone = once(child, 'close')
  connection.onError(() => undefined)
  connection.onRequest('client/registerCapability', () => null)
  connection.listen()
  const uriOf = (name: string) => pathToFileURL(join(folder, name)).href
  const texts = new Map<string, string>()
  let version = 1
  const open = async (file: string) => {
    const text = files.get(`new/${file}`) ?? ''
    texts.set(file, text)
    await connection.sendNotification('textDocument/didOpen', {
      textDocument: { uri: uriOf(file), languageId: 'yaml', version, text },
    })
  }
  const say = async ({ ask, file, at, text }: Run['messages'][number]) => {
    if (ask === 'open' || !texts.has(file)) await open(file)
    const known = texts.get(file) ?? ''
    const offset = known.lastIndexOf('\n', Math.floor(at * known.length)) + 1
    const line = known.slice(0, offset).split('\n').length - 1
    const position = { line, character: Math.min(8, known.length - offset) }
    const textDocument = { uri: uriOf(file), version: ++version }
    const range = { start: { line, character: 0 }, end: position }
    const askOf = (more: object) =>
      connection.sendRequest(`textDocument/${ask}`, { textDocument, position, ...more })
    switch (ask) {
      case 'open':
        return
      case 'insert':
        texts.set(file, known.slice(0, offset) + text + known.slice(offset))
        await connection.sendNotification('textDocument/didChange', {
          textDocument,
          contentChanges: [{ range: { start: range.start, end: range.start }, text }],
        })
        return
      case 'replace':
        texts.set(file, known + text)
        await connection.sendNotification('textDocument/didChange', {
          textDocument,
          contentChanges: [{ text: known + text }],
        })
        return
      case 'codeAction':
        await askOf({
          range: { start: { line: 0, character: 0 }, end: position },
          context: { diagnostics: [] },
        })
        return
      default:
        await askOf({ newName: 'other', context: { includeDeclaration: true } })
    }
  }
  const whole = (async () => {
    const workspaceFolders = [{ uri: pathToFileURL(folder).href, name: 'new' }]
    await connection.sendRequest('initialize', {
      processId: null,
      rootUri: null,
      capabilities: {},
      workspaceFolders,
    })
    await connection.sendNotification('initialized', {})
    for (const message of messages)
      for (let i = 0; i < message.times; i++) await say(message).catch(() => undefined)
    await untilIdle(child)
    await connection.sendRequest('shutdown')
    await connection.sendNotification('exit')
  })().catch(() => undefined)
  await Promise.race([whole, gone])
  connection.dispose()
  child.stdin.end()
}

/** Waits until the process uses no CPU for a while: it has then published all diagnostics. */
async function untilIdle({ pid }: ChildProcess): Promise<void> {
  for (let before = -1, now = cpuMsOf(pid); now !== undefined && now > before + 10; now = cpuMsOf(pid)) {
    before = now
    await setTimeout(200)
  }
}

/** The functions with the longest self time in the CPU profiles of a folder. */
export function hottestIn(folder: string): { readonly where: string; readonly ms: number }[] {
  const spent = new Map<string, number>()
  for (const name of readdirSync(folder)) {
    const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile
    const byId = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
    for (const [i, id] of samples.entries()) {
      const { functionName = '', url = '', lineNumber = 0 } = byId.get(id) ?? {}
      const where = `${url.replace(/^.*\/(?:src|node_modules)\//, '')}:${lineNumber + 1} ${functionName}`
      spent.set(where, (spent.get(where) ?? 0) + (timeDeltas[i] ?? 0) / 1_000)
    }
  }
  return Array.from(spent, ([where, ms]) => ({ where, ms })).toSorted((a, b) => b.ms - a.ms)
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}
