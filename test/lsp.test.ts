import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-jsonrpc/node'
import { parse } from 'yaml'
import { TextDocument } from 'vscode-languageserver-textdocument'
import type {
  CodeAction,
  CompletionItem,
  Diagnostic,
  Hover,
  Location,
  PublishDiagnosticsParams,
  WorkspaceEdit,
} from 'vscode-languageserver'
import { COMPILE_CACHE } from './support/compile-cache.ts'
import { cursorIn, type Editor, startEditor } from './support/editor.ts'
import { API, BACKEND, CONFIG, GATEWAY, GROUP, OIDC, SECRET } from './support/editor-files.ts'
import { programFile } from './support/programs.ts'

const MAIN = programFile('cli')

const FILES = {
  'gateway.yaml': GATEWAY,
  'backend.yaml': BACKEND,
  'config.yaml': CONFIG,
  'group.yaml': GROUP,
  'oidc.yaml': OIDC,
  'secret.yaml': SECRET,
}

t.test('a mistake in one file is shown in the files that it concerns, and goes with it', async (t) => {
  const editor = await startEditor(t, FILES)
  await editor.open('config.yaml', CONFIG)
  await editor.change('config.yaml', CONFIG.replace('okta', 'github'))
  const isAbout = (id: string) => (all: readonly { code?: unknown }[]) => all.some(({ code }) => code === id)
  const [own] = await editor.shown('config.yaml', isAbout('auth-config-served'))
  t.match(own, { severity: 2, range: { start: { line: 7, character: 18 }, end: { line: 7, character: 24 } } })
  const other = await editor.shown('gateway.yaml', isAbout('upstream-inject-provider-exists'))
  t.match(
    other.find(({ code }) => code === 'upstream-inject-provider-exists'),
    {
      severity: 1,
      message: /^Not found: "github"/,
      relatedInformation: [{ location: { uri: editor.uri('config.yaml'), range: { start: { line: 7 } } } }],
    },
  )
  await editor.change('config.yaml', CONFIG)
  await editor.shown('config.yaml', (all) => !isAbout('auth-config-served')(all))
  await editor.shown('gateway.yaml', (all) => !isAbout('upstream-inject-provider-exists')(all))
})

t.test('a file that cannot be read is shown where it ends to be YAML', async (t) => {
  const editor = await startEditor(t, { 'a.yaml': `${API}\nkind: [\n` })
  const [first] = await editor.shown('a.yaml')
  t.match(first, { severity: 1, source: 'vmcp-admission' })
})

t.test('a small file does not wait for a slow one', async (t) => {
  const slow = Array.from({ length: 3_000 }, (_, i) => CONFIG.replace('name: wiki', `name: c${i}`)).join(
    '\n---\n',
  )
  const editor = await startEditor(t, {})
  const order: string[] = []
  editor.connection.onNotification('textDocument/publishDiagnostics', ({ uri }: PublishDiagnosticsParams) => {
    order.push(uri)
  })
  const ordered = async (count: number) => {
    for (let i = 0; i < 3_000 && order.length < count; i++) await setTimeout(10)
  }
  // The server waits after a change for as long as parsing took before, so it parses both of the next files after the
  // wait.
  await editor.open('first.yaml', `${slow}\n---\na: [`)
  await ordered(1)
  await Promise.all([editor.open('a-slow.yaml', `${slow}\n---\na: [`), editor.open('b-small.yaml', 'a: [')])
  await ordered(3)
  t.strictSame(order, ['first.yaml', 'b-small.yaml', 'a-slow.yaml'].map(editor.uri))
})

t.test('the files of an editor have a bound together', async (t) => {
  const editor = await startEditor(t, {})
  const marks = `a: {}\n# ${','.repeat(600_000)}\n`
  await editor.open('a.yaml', marks)
  await editor.open('b.yaml', marks)
  const [refused] = await editor.shown('b.yaml')
  t.match(refused, { severity: 2, message: /together have more than a million/ })
  await editor.change('a.yaml', 'a: 1\n')
  await editor.change('b.yaml', `${marks}c: [`)
  await editor.shown('b.yaml', (all) => all[0]?.severity === 1)
})

t.test('actions are tried for few findings of a large file', async (t) => {
  const bad = (i: number) =>
    `${API}\nkind: MCPExternalAuthConfig\nmetadata: { name: a${i}, labels: { b: ${'x'.repeat(63)} } }\nspec: { type: bearerToken }\n`
  const text = Array.from({ length: 1_500 }, (_, i) => bad(i)).join('---\n')
  const editor = await startEditor(t, {})
  await editor.open('a.yaml', text)
  const actions = await editor.ask(
    'codeAction',
    'a.yaml',
    { line: 0, character: 0 },
    {
      range: { start: { line: 0, character: 0 }, end: { line: 500, character: 0 } },
      context: { diagnostics: [], only: ['quickfix'] },
    },
  )
  t.equal((actions as readonly CodeAction[]).length, 1)
})

/** A text with the cursor at `|`, and the labels that completion offers first. */
const COMPLETIONS: readonly (readonly [title: string, marked: string, labels: readonly string[]])[] = [
  ['the fields of a kind', `${API}\nkind: MCPGroup\nmetadata:\n  name: a\n|`, ['spec']],
  ['required fields first', `${API}\nkind: MCPExternalAuthConfig\nspec:\n  |`, ['type']],
  [
    'in an item of a list',
    `${API}\nkind: VirtualMCPServer\nspec:\n  authServerConfig:\n    upstreamProviders:\n      - name: a\n        ty|`,
    ['type'],
  ],
  [
    'at the dash of an item',
    `${API}\nkind: VirtualMCPServer\nspec:\n  authServerConfig:\n    upstreamProviders:\n      - |`,
    ['name', 'type'],
  ],
  [
    'the values of an enum',
    `${API}\nkind: VirtualMCPServer\nspec:\n  incomingAuth:\n    type: |`,
    ['anonymous', 'oidc'],
  ],
  ['the kinds', `${API}\nkind: |`, ['MCPExternalAuthConfig', 'VirtualMCPServer']],
  ['the version', 'apiVersion: |', ['toolhive.stacklok.dev/v1beta1']],
  ['the name of a group', `${API}\nkind: MCPServer\nspec:\n  groupRef:\n    name: |`, ['tools']],
  ['the name of a configuration', BACKEND.replace('name: wiki\n`', '').replace(/wiki\n$/, '|'), ['wiki']],
  ['the name of a provider', CONFIG.replace('okta # of the gateway', '|'), ['okta']],
  ['the name of a Secret', GATEWAY.replace('name: upstream', 'name: |'), ['upstream']],
  ['the key of a Secret', GATEWAY.replace('key: secret', 'key: |'), ['secret']],
  ['nothing in a comment', `${API} # |`, []],
  ['nothing in another kind', 'apiVersion: v1\nkind: Service\nspec:\n  type: |', []],
]

for (const [title, marked, labels] of COMPLETIONS)
  t.test(`completion: ${title}`, async (t) => {
    const editor = await startEditor(t, FILES)
    await editor.shown('gateway.yaml', () => true)
    const { text, position } = cursorIn(marked)
    await editor.open('new.yaml', text)
    const items = (await editor.ask('completion', 'new.yaml', position)) as CompletionItem[]
    t.strictSame(
      items.slice(0, labels.length).map(({ label }) => label),
      labels,
    )
    t.ok(labels.length > 0 || items.length === 0)
  })

t.test('a completion that is taken leaves a text that says it', async (t) => {
  const editor = await startEditor(t, FILES)
  const { text, position } = cursorIn(`${API}\nkind: MCPServer\nspec:\n  groupRef:\n    name: to|x\n`)
  await editor.open('new.yaml', text)
  const [item] = (await editor.ask('completion', 'new.yaml', position)) as CompletionItem[]
  t.match(item?.textEdit, {
    newText: 'tools',
    range: { start: { line: 4, character: 10 }, end: { line: 4, character: 13 } },
  })
})

const HOVERS: readonly (readonly [marked: string, text: RegExp])[] = [
  [GATEWAY.replace('audience:', '|audience:'), /^\*\*audience\*\*: string/],
  [GATEWAY.replace('type: oidc', 'type: o|idc'), /one of `anonymous`, `oidc`/],
  [CONFIG.replace('okta', '|github'), /\*\*auth-config-served\*\*: .*docs\/rules\//s],
]
for (const [marked, wanted] of HOVERS)
  t.test(`hover: ${String(wanted)}`, async (t) => {
    const editor = await startEditor(t, FILES)
    const { text, position } = cursorIn(marked)
    const name = marked.includes('kind: VirtualMCPServer') ? 'gateway.yaml' : 'config.yaml'
    await editor.open(name, text)
    const hover = (await editor.ask('hover', name, position)) as Hover
    t.match((hover.contents as { value: string }).value, wanted)
  })

/**
 * A file with the cursor at `|` on a mistake, the code actions offered there, and the lines that each action changes.
 */
const ACTIONS: [title: string, file: string, marked: string, actions: Record<string, string[]>][] = [
  [
    'a fix, and a comment',
    'group.yaml',
    'apiVersion: toolhive.stacklok.dev/|v1alpha1\nkind: MCPGroup\nmetadata:\n  name: tools\n',
    {
      'Write v1beta1': ['apiVersion: toolhive.stacklok.dev/v1beta1'],
      'Ignore api-version-current here with a reason': [
        '# vmcp-admission: ignore[api-version-current] <why>',
      ],
      'Make all safe fixes of this file': ['apiVersion: toolhive.stacklok.dev/v1beta1'],
    },
  ],
  [
    'indented, in a list, with the ends of lines of the file',
    'backend.yaml',
    BACKEND.replace('tools', '|nobody').replaceAll('\n', '\r\n'),
    {
      'Ignore reference-found here with a reason': ['    # vmcp-admission: ignore[reference-found] <why>'],
    },
  ],
  [
    'above the key of a value that stands alone',
    'backend.yaml',
    BACKEND.replace('name: tools', 'name:\n      |nobody'),
    {
      'Ignore reference-found here with a reason': ['    # vmcp-admission: ignore[reference-found] <why>'],
    },
  ],
  ['what cannot be ignored', 'backend.yaml', BACKEND.replace('name: tools', 'name: |[]'), {}],
  ['JSON has no comments', 'a.json', JSON.stringify(parse(BACKEND.replace('tools', 'nobody'))) + '|', {}],
  ['nothing', 'backend.yaml', BACKEND + '|', {}],
]
for (const [title, file, marked, wanted] of ACTIONS)
  t.test(`code actions: ${title}`, async (t) => {
    const editor = await startEditor(t, FILES)
    const { text, position } = cursorIn(marked)
    await editor.open(file, text)
    const range = { start: position, end: position }
    const ask = async (context: object) =>
      (await editor.ask('codeAction', file, position, { range, context })) as CodeAction[]
    const actions = await ask({ diagnostics: [] })
    const before = TextDocument.create('file:///a', 'yaml', 1, text)
    const lines = text.split(/\r?\n/)
    const changed = actions.map(({ title, edit }) => {
      const after = TextDocument.applyEdits(before, edit?.changes?.[editor.uri(file)] ?? [])
      t.equal(after.includes('\r\n'), text.includes('\r\n'))
      return [title, after.split(/\r?\n/).filter((line) => !lines.includes(line))]
    })
    t.strictSame(Object.fromEntries(changed), wanted)
    t.strictSame(
      (await ask({ diagnostics: [], only: ['source.fixAll'] })).map(({ kind }) => kind),
      'Make all safe fixes of this file' in wanted ? ['source.fixAll.vmcp-admission'] : [],
    )
  })

t.test('the configuration file counts, and its mistakes are shown in it', async (t) => {
  const C = 'vmcp-admission.yaml'
  const wrong = BACKEND.replace('tools', 'nobody')
  const exempt = 'exemptions: [{ id: reference-found, reason: made elsewhere }]'
  const editor = await startEditor(t, { 'backend.yaml': wrong, [C]: 'profile: lax' })
  t.match(await editor.shown(C), [
    {
      severity: 1,
      message: "'profile' is one of standard, strict",
      range: { start: { line: 0, character: 9 } },
    },
  ])
  await editor.shown('backend.yaml')
  await editor.open(C, 'profile: lax')
  await editor.save(C, exempt)
  await editor.shown(C, (all) => all.length === 0)
  await editor.shown('backend.yaml', (all) => all.length === 0)
  await editor.save(C, `${exempt}\nprofiles: x`)
  t.match(await editor.shown(C), [{ message: /did you mean 'profile'/, range: { start: { line: 1 } } }])
  t.strictSame(await editor.shown('backend.yaml', () => true), [], 'what was read before stays in use')
})

t.test('a manifest that has the name of the configuration file is judged', async (t) => {
  const editor = await startEditor(t, { 'group.yaml': FILES['group.yaml'] })
  const file = 'vmcp-admission.yaml'
  await editor.open(file, BACKEND.replace('tools', 'nobody'))
  t.match(await editor.shown(file, (all) => all.length > 0), [{ code: 'reference-found' }])
})

t.test('a comment whose reason is not written has no effect, and says so', async (t) => {
  const editor = await startEditor(t, FILES)
  const wrong = (reason: string) =>
    BACKEND.replace('tools', 'nobody').replace(
      '  groupRef:',
      `  # vmcp-admission: ignore[reference-found] ${reason}\n  groupRef:`,
    )
  await editor.open('backend.yaml', wrong('<why>'))
  const shown = await editor.shown('backend.yaml', (all) => all.length === 2)
  t.match(
    shown.find(({ code }) => code === undefined),
    { severity: 3, message: /has no effect without a reason/ },
  )
  await editor.change('backend.yaml', wrong('made elsewhere'))
  await editor.shown('backend.yaml', (all) => all.length === 0)
})

/** Locations as `FILE:LINE`, with lines counted from 0. */
const short = (all: readonly Location[]) =>
  all.map(({ uri, range }) => `${uri.split('/').at(-1) ?? ''}:${range.start.line}`).toSorted()

/** The locations that a rename changes. */
const changed = ({ changes = {} }: WorkspaceEdit) =>
  short(Object.entries(changes).flatMap(([uri, all]) => all.map(({ range }) => ({ uri, range }))))

const NAMES: readonly (readonly [
  file: keyof typeof FILES,
  marked: string,
  defined: string,
  uses: readonly string[],
])[] = [
  ['backend.yaml', BACKEND.replace(/wiki\n$/, 'w|iki\n'), 'config.yaml:3', ['backend.yaml:9']],
  ['group.yaml', GROUP.replace('tools', '|tools'), 'group.yaml:3', ['backend.yaml:7', 'gateway.yaml:6']],
  ['config.yaml', CONFIG.replace('okta', 'okta|'), 'gateway.yaml:16', ['config.yaml:7']],
  ['gateway.yaml', GATEWAY.replace('key: secret', 'key: sec|ret'), 'secret.yaml:5', ['gateway.yaml:23']],
]
for (const [file, marked, defined, uses] of NAMES)
  t.test(`names: ${defined}`, async (t) => {
    const editor = await startEditor(t, FILES)
    await editor.shown('gateway.yaml', () => true)
    const { text, position } = cursorIn(marked)
    await editor.open(file, text)
    t.strictSame(short((await editor.ask('definition', file, position)) as Location[]), [defined])
    const found = await editor.ask('references', file, position, { context: { includeDeclaration: false } })
    t.strictSame(short(found as Location[]), uses)
    const edit = (await editor.ask('rename', file, position, { newName: 'other' })) as WorkspaceEdit
    t.strictSame(changed(edit), [defined, ...uses].toSorted())
    t.rejects(editor.ask('rename', file, position, { newName: 'a b' }), /cannot be a name/)
  })

t.test('a key is renamed only when everything that uses it writes it', async (t) => {
  const oidc = (name: string, key: string) =>
    `${OIDC.replace('login', name)}    caBundleRef:\n      configMapRef:\n        name: ca\n${key}`
  const written = '        key: ca.crt\n'
  const editor = await startEditor(t, {
    'ca.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ca\ndata:\n  ca.crt: ${CA}\n',
    'a.yaml': oidc('a', written),
    'b.yaml': oidc('b', ''),
  })
  const rename = () => editor.ask('rename', 'ca.yaml', { line: 5, character: 4 }, { newName: 'b.crt' })
  const context = { includeDeclaration: false }
  const uses = await editor.ask('references', 'ca.yaml', { line: 5, character: 4 }, { context })
  t.strictSame(short(uses as Location[]), ['a.yaml:11', 'b.yaml:9'])
  await t.rejects(rename(), /'b\.yaml' uses 'ca\.crt' by default: write the key there first/)
  t.equal(await editor.ask('prepareRename', 'b.yaml', { line: 9, character: 8 }), null)
  await editor.open('b.yaml', oidc('b', written))
  t.strictSame(changed((await rename()) as WorkspaceEdit), ['a.yaml:11', 'b.yaml:11', 'ca.yaml:5'])
})

/** A second backend whose group does not exist; NOBODY is the position of the group's name in it. */
const LOST = BACKEND.replace('name: wiki', 'name: lost').replace('tools', 'nobody')
const NOBODY = { line: 7, character: 12 }
const usesIn = async (editor: Editor, file: string) => {
  const context = { includeDeclaration: true }
  return short((await editor.ask('references', file, NOBODY, { context })) as Location[])
}

t.test('a file is the same by every URI that names it', async (t) => {
  const editor = await startEditor(t, { ...FILES, 'a@b.yaml': LOST })
  await editor.shown('a@b.yaml')
  const encoded = editor.uri('a@b.yaml').replace('@', '%40')
  await editor.open(encoded, LOST)
  t.strictSame(await usesIn(editor, encoded), ['a%40b.yaml:7'])
  t.match(await editor.shown(encoded), [{ code: 'reference-found' }])
  t.strictSame(await editor.shown('a@b.yaml', () => true), [])
  await editor.change(encoded, LOST.replace('nobody', 'tools'))
  await editor.shown(encoded, (all) => all.length === 0)
  await editor.close(encoded)
  t.match(await editor.shown('a@b.yaml'), [{ code: 'reference-found' }])
  t.strictSame(await editor.shown(encoded, () => true), [])
})

t.test('files of two folders stay apart when their paths in them are equal', async (t) => {
  const others = [GATEWAY, BACKEND, GROUP, OIDC, SECRET].join('---\n')
  const files = { 'one/a.yaml': CONFIG.replace('okta', 'github'), 'two/a.yaml': others }
  const editor = await startEditor(t, files, [], ['one', 'two'])
  const isWanted = ({ code }: Diagnostic) => code === 'upstream-inject-provider-exists'
  const all = await editor.shown('two/a.yaml', (each) => each.some(isWanted))
  t.match(all.find(isWanted)?.relatedInformation, [{ location: { uri: editor.uri('one/a.yaml') } }])
})

t.test('of copies of an object the last one counts, as for check, and no patch', async (t) => {
  const editor = await startEditor(t, {
    ...FILES,
    'config/a.yaml': CONFIG,
    'config.yaml': CONFIG.replace('okta', 'github'),
    'kustomization.yaml': 'patches:\n  - path: patch.yaml\n',
    'patch.yaml': CONFIG,
  })
  const isWanted = ({ code }: Diagnostic) => code === 'upstream-inject-provider-exists'
  const all = await editor.shown('gateway.yaml', (each) => each.some(isWanted))
  const found = all.find(isWanted)
  t.match(found?.relatedInformation, [{ location: { uri: editor.uri('config.yaml') } }])
  await editor.open('config/a.yaml', CONFIG)
  const hover = await editor.ask('hover', 'gateway.yaml', found?.range.start ?? NOBODY)
  t.match(hover, { contents: { value: /upstream-inject-provider-exists/ } })
})

/** Files outside of the workspace `work` or excluded from it, and whether they are searched while they are open. */
const ELSEWHERE: readonly (readonly [file: string, counts: boolean])[] = [
  ['elsewhere/a.yaml', true],
  ['work/.cache/a.yaml', true],
  ['work/node_modules/a.yaml', true],
  ['work/link/a.yaml', true],
  ['work/a.txt', true],
  ['work/deploy/old/a.yaml', false],
]
t.test('a file that check does not read counts only while it is open', async (t) => {
  const names = ELSEWHERE.map(([name]) => name).filter((name) => !name.includes('link'))
  const files = Object.fromEntries(['work/b.yaml', ...names].map((name) => [name, LOST]))
  // The names of folders above the workspace do not match --exclude.
  const above = basename(dirname(t.testdirName))
  const flags = ['--exclude', 'deploy/old', '--exclude', 'work', '--exclude', above]
  const editor = await startEditor(t, files, flags, ['work'])
  symlinkSync(join(t.testdirName, 'work/deploy/old'), join(t.testdirName, 'work/link'))
  t.strictSame(await usesIn(editor, 'work/b.yaml'), ['b.yaml:7'])
  for (const [name, counts] of ELSEWHERE) {
    await editor.open(name, LOST)
    t.equal((await usesIn(editor, 'work/b.yaml')).length, counts ? 2 : 1, name)
    await editor.close(name)
    await editor.connection.sendNotification('workspace/didChangeWatchedFiles', {
      changes: [{ uri: editor.uri(name), type: 2 }],
    })
    await editor.rest()
    t.strictSame(await usesIn(editor, 'work/b.yaml'), ['b.yaml:7'], name)
    t.strictSame(await editor.shown(name, () => true), [], name)
  }
})

/** Starts a language server process as an editor does, in a folder of its own. */
async function startProcess(
  t: Test,
  folders: (folder: string) => unknown = (folder) => [{ uri: pathToFileURL(folder).href, name: 'test' }],
) {
  const folder = t.testdir({})
  const child = spawn(process.execPath, [MAIN, 'lsp', '--stdio'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...COMPILE_CACHE },
  })
  t.teardown(() => child.kill())
  const connection = createMessageConnection(
    new StreamMessageReader(child.stdout),
    new StreamMessageWriter(child.stdin),
  )
  const shown = new Map<string, readonly Diagnostic[]>()
  connection.onNotification(
    'textDocument/publishDiagnostics',
    ({ uri, diagnostics }: PublishDiagnosticsParams) => {
      shown.set(uri, diagnostics)
    },
  )
  connection.onRequest('client/registerCapability', () => null)
  connection.listen()
  t.teardown(() => connection.dispose())
  const start = async () => {
    await connection.sendRequest('initialize', {
      processId: null,
      rootUri: null,
      capabilities: {},
      workspaceFolders: folders(folder),
    })
    await connection.sendNotification('initialized', {})
  }
  return { folder, child, connection, shown, start }
}

const until = async (isSo: () => boolean) => {
  while (!isSo()) await setTimeout(20)
}

t.test('no message of an editor ends the server', async (t) => {
  const { folder, child, connection, start } = await startProcess(t, (folder) => [
    { uri: 'file://host/folder', name: 'a' },
    { uri: 'file:///%E0%A4', name: 'b' },
    { uri: pathToFileURL(folder).href, name: 'c' },
  ])
  await start()
  const document = { languageId: 'yaml', version: 1, text: GROUP }
  const own = pathToFileURL(join(folder, 'a.yaml')).href
  const uris = [
    'file://host/x.yaml',
    'file:///a%00b.yaml',
    'file:///a%2Fb.yaml',
    'file:///%E0%A4.yaml',
    'file:',
    'untitled:x',
    '',
    '::',
    'FILE:///x.yaml',
    own,
    7,
    null,
  ]
  const positions = [
    { line: -1, character: -1 },
    { line: 1e9, character: 1e9 },
    { line: 0.5, character: Number.MAX_SAFE_INTEGER },
    { line: '0', character: null },
    {},
    null,
  ]
  for (const uri of uris) {
    await connection.sendNotification('textDocument/didOpen', { textDocument: { ...document, uri } })
    for (const range of [undefined, null, ...positions.map((start) => ({ start, end: start }))])
      await connection.sendNotification('textDocument/didChange', {
        textDocument: { uri, version: 2 },
        contentChanges: [{ range, text: 'a' }],
      })
    await connection.sendNotification('textDocument/didSave', { textDocument: { uri } })
    await connection.sendNotification('workspace/didChangeWatchedFiles', { changes: [{ uri, type: 1 }] })
    for (const position of positions)
      for (const method of [
        'completion',
        'hover',
        'definition',
        'references',
        'codeAction',
        'prepareRename',
        'rename',
      ])
        await connection
          .sendRequest(`textDocument/${method}`, {
            textDocument: { uri },
            position,
            range: { start: position, end: position },
            context: {},
            newName: 'b',
          })
          .catch(() => undefined)
    await connection.sendNotification('textDocument/didClose', { textDocument: { uri } })
  }
  for (const method of [
    'textDocument/didOpen',
    'textDocument/didChange',
    'textDocument/didClose',
    'workspace/didChangeWatchedFiles',
    'initialized',
    'unknown',
  ])
    for (const params of [{}, [], { textDocument: null }, { changes: 7 }])
      await connection.sendNotification(method, params)
  await connection.sendNotification('textDocument/didOpen', { textDocument: { ...document, uri: own } })
  const hover = await connection.sendRequest('textDocument/hover', {
    textDocument: { uri: own },
    position: { line: 1, character: 0 },
  })
  t.match(hover, { contents: { value: String } })
  t.equal(child.exitCode, null)
})

t.test('what is no manifest of the workspace is not read', async (t) => {
  const { folder, shown, start } = await startProcess(t)
  const elsewhere = mkdtempSync(join(tmpdir(), 'vmcp-lsp-'))
  t.teardown(() => rmSync(elsewhere, { recursive: true }))
  writeFileSync(join(elsewhere, 'secret.yaml'), `${API}\nkind: [secret`)
  writeFileSync(join(folder, 'good.yaml'), BACKEND.replace('tools', 'nobody'))
  symlinkSync('/dev/zero', join(folder, 'zero.yaml'))
  symlinkSync(join(elsewhere, 'secret.yaml'), join(folder, 'out.yaml'))
  execFileSync('mkfifo', [join(folder, 'pipe.yaml')])
  writeFileSync(join(folder, 'large.yaml'), '')
  truncateSync(join(folder, 'large.yaml'), 33 * 2 ** 20)
  await start()
  const of = (name: string) => shown.get(pathToFileURL(join(folder, name)).href)
  await until(() => of('good.yaml') !== undefined && of('large.yaml') !== undefined)
  t.match(of('zero.yaml'), [{ message: /not read/ }])
  t.match(of('out.yaml'), [{ message: 'not read: a link that leads out of the workspace' }])
  t.match(of('pipe.yaml'), [{ message: /not a (?:regular )?file/ }])
  t.match(of('large.yaml'), [{ message: /larger than 32 MB/ }])
})

t.test('a line with thousands of references and findings is answered', async (t) => {
  const { folder, connection, shown, start } = await startProcess(t)
  const backends = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, i) => [
      `b${i}`,
      { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: `c${i}` } },
    ]),
  )
  const gateway = {
    ...(parse(GATEWAY) as object),
    spec: {
      groupRef: { name: 'tools' },
      incomingAuth: { type: 'anonymous' },
      outgoingAuth: { source: 'inline', backends },
    },
  }
  writeFileSync(join(folder, 'line.json'), JSON.stringify(gateway))
  await start()
  const uri = pathToFileURL(join(folder, 'line.json')).href
  await until(() => shown.has(uri))
  const diagnostics = shown.get(uri) ?? []
  t.equal(diagnostics.length, 1_001)
  t.match(diagnostics.at(-1), {
    message: /^\d+ more are not shown: vmcp-admission check line\.json lists all$/,
  })
  t.ok(diagnostics.every(({ range }) => range.end.character - range.start.character <= 1_000))
  // Fifty changes sent at once are judged once, and the request sent after them is answered.
  await connection.sendNotification('textDocument/didOpen', {
    textDocument: { uri, languageId: 'json', version: 1, text: JSON.stringify(gateway) },
  })
  for (let version = 2; version < 52; version++)
    await connection.sendNotification('textDocument/didChange', {
      textDocument: { uri, version },
      contentChanges: [{ text: JSON.stringify({ ...gateway, metadata: { name: `g${version}` } }) }],
    })
  const character = JSON.stringify({ ...gateway, metadata: { name: 'g51' } }).indexOf('c17"')
  const found = await connection.sendRequest<Location[]>('textDocument/references', {
    textDocument: { uri },
    position: { line: 0, character },
    context: { includeDeclaration: true },
  })
  t.match(found, [{ uri, range: { start: { line: 0, character: character - 1 } } }])
})
