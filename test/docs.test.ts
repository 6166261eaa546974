import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { sourceNames } from '../src/rule/rule.ts'
import { allRules } from '../src/kinds/places.ts'
import { describedId, describedSource, pathOf } from '../src/kinds/documentation.ts'
import { ENGINE_IDS } from '../src/engine/engine-ids.ts'
import { runCli } from './support/cli.ts'
import { writeInputs } from './support/command-rows.ts'
import { commandsOf, isForm } from './support/page-commands.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const IGNORED = /^(node_modules|dist|artifacts|\.)|\/node_modules\//

/** The Markdown files of the repository, by path from its root. */
const PAGES: ReadonlyMap<string, string> = new Map(
  globSync('**/*.md', { cwd: ROOT, exclude: (path) => IGNORED.test(path) }).map((path) => [
    path,
    readFileSync(ROOT + path, 'utf8'),
  ]),
)

const exists = (path: string) => globSync(path, { cwd: ROOT }).length > 0

interface Link {
  readonly text: string
  readonly path: string
  readonly anchor: string | undefined
}

const withoutCode = (markdown: string) =>
  markdown
    .replaceAll(/^( *)(`{3,})[^`\n]*\n[\s\S]*?^\1\2$/gm, '')
    .replaceAll(/^ {4}.*$/gm, '')
    .replaceAll(/(`+)(?!`).+?(?<!`)\1(?!`)/g, 'code')

/** The relative links of a page, with their paths from the root of the repository. */
function linksOf(page: string, markdown: string): Link[] {
  return [...withoutCode(markdown).matchAll(/\[([^\]]*)\]\(([^)\s]+)\)/g)].flatMap(
    ([, text = '', target = '']) => {
      if (/^[a-z]+:/.test(target)) return []
      const [path = '', anchor] = target.split('#')
      return [{ text, path: path === '' ? page : posix.join(posix.dirname(page), path), anchor }]
    },
  )
}

/** The anchors of a page: of its headings, as GitHub makes them, and `<a id>`. */
function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set([...markdown.matchAll(/<a id="([^"]+)">/g)].map(([, anchor = '']) => anchor))
  const outside = markdown.replaceAll(/^( *)(`{3,})[^`\n]*\n[\s\S]*?^\1\2$/gm, '')
  for (const [, heading = ''] of outside.matchAll(/^#+ (.+)$/gm)) {
    const words = heading.replaceAll(/<[^>]+>/g, '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    const slug = words
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-')
    let unique = slug
    for (let n = 1; anchors.has(unique); n++) unique = `${slug}-${n}`
    anchors.add(unique)
  }
  return anchors
}

/** The links whose page or anchor does not exist. */
function brokenLinks(pages: ReadonlyMap<string, string>): string[] {
  return [...pages].flatMap(([page, markdown]) =>
    linksOf(page, markdown).flatMap(({ path, anchor }) => {
      const target = pages.get(path)
      if (target === undefined && !exists(path)) return [`${page}: ${path} does not exist`]
      if (anchor === undefined || (target !== undefined && anchorsOf(target).has(anchor))) return []
      return [`${page}: ${path} has no anchor ${anchor}`]
    }),
  )
}

/** The pages in docs/ and contributing/ to which no chain of links leads from the index of docs/. */
function unreachable(pages: ReadonlyMap<string, string>): string[] {
  const reached = new Set(['docs/README.md'])
  for (const page of reached)
    for (const { path } of linksOf(page, pages.get(page) ?? '')) if (pages.has(path)) reached.add(path)
  return [...pages.keys()].filter((page) => /^(docs|contributing)\//.test(page) && !reached.has(page))
}

/** The text without section numbers of RFCs; the other numbers cite the specification or docs/decisions.md. */
const withoutRfcs = (text: string) =>
  text.replaceAll(
    /\bRFC \d+, sections? \d[\d.]*(?:(?:, | and )\d[\d.]*)*|\bsections? \d[\d.]* of RFC \d+/gi,
    '',
  )

/** The numbers of decisions and sections that a text cites. */
function sourcesIn(text: string): string[] {
  const NUMBERS = /\b(decision|section)s? (\d+(?:\.\d+)*(?:(?:, | and | to | or )\d+(?:\.\d+)*)*)/gi
  return [...withoutRfcs(text).matchAll(NUMBERS)].flatMap(([, what = '', numbers = '']) =>
    numbers
      .split(/, | and | to | or /)
      .map((number) => (what.toLowerCase() === 'decision' ? `decision ${number}` : number)),
  )
}

/**
 * Citations of decisions and sections that are not links. docs/decisions.md may cite its own decisions without links.
 */
function unlinkedCitations(pages: ReadonlyMap<string, string>): string[] {
  return [...pages].flatMap(([page, markdown]) => {
    if (page === 'docs/decisions.md') return []
    const words = withoutRfcs(withoutCode(markdown)).replaceAll(/\[[^\]]*\]\([^)]*\)|^#.*$/gm, '')
    return [...words.matchAll(/\b(?:decision|section)s? \d[\d.]*/gi)].map(([cited]) => `${page}: ${cited}`)
  })
}

t.test('relative links and their anchors exist', async (t) => {
  t.ok(PAGES.size > 20, `${PAGES.size} pages`)
  t.strictSame(brokenLinks(PAGES), [])
})

t.test('every page can be reached from the index', async (t) => {
  t.strictSame(unreachable(PAGES), [])
})

/** The most words on one hand-written page, and on all pages for users together. */
const MOST_WORDS = { page: 1_500, ofUsers: 25_000 }

/**
 * The number of words: only those with a letter or digit, so that table borders do not count. Tables that `npm run
 * bench` and `npm run parity` write do not count either.
 */
const wordsOf = (markdown: string): number =>
  markdown
    .replaceAll(/<!-- (\w+) -->[\s\S]*?<!-- end of \1 -->/g, '')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length

t.test('a reader can hold each page, and all of them', async (t) => {
  const written = [...PAGES].filter(
    ([page, markdown]) =>
      page !== 'CHANGELOG.md' && !/GENERATED by npm|Written by `npm/.test(markdown.slice(0, 200)),
  )
  for (const [page, markdown] of written) {
    // docs/decisions.md is a long list, whose items are cited by number.
    if (page !== 'docs/decisions.md')
      t.ok(wordsOf(markdown) <= MOST_WORDS.page, `${page}: ${wordsOf(markdown)} words`)
  }
  const ofUsers = written.filter(([page]) => /^docs\/|^(README|SECURITY)\.md$/.test(page))
  const sum = ofUsers.reduce((total, [, markdown]) => total + wordsOf(markdown), 0)
  t.ok(ofUsers.length > 20, `${ofUsers.length} pages for users`)
  t.ok(sum < MOST_WORDS.ofUsers, `${sum} words on ${ofUsers.length} pages`)
})

t.test('every decision and section that a page cites is a link', async (t) => {
  t.strictSame(unlinkedCitations(PAGES), [])
})

t.test('every id, decision and section that the code cites can be opened', async (t) => {
  const cited = [...allRules(), ...ENGINE_IDS].flatMap(({ id, sources }) => [
    describedId(id),
    ...sourceNames(sources).map(describedSource),
  ])
  for (const path of globSync('src/**/*.ts', { cwd: ROOT }))
    cited.push(...sourcesIn(readFileSync(ROOT + path, 'utf8')).map(describedSource))
  const byId = anchorsOf(PAGES.get('docs/rules.md') ?? '')
  for (const described of cited) {
    const page = PAGES.get(`docs/${described.page}`)
    const { anchor } = described
    t.ok(page !== undefined && (anchor === undefined || anchorsOf(page).has(anchor)), pathOf(described))
    if (described.page.startsWith('rules/'))
      t.ok(byId.has(described.text.toLowerCase()), `docs/rules.md: ${described.text}`)
  }
  for (const { id } of allRules().filter(({ when }) => when === 'delete'))
    t.notMatch(PAGES.get(`docs/rules/${id}.md`) ?? '', `ignore[${id}]`, 'no deletion has a comment')
})

t.test('the commands in code are ones that the program understands', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-docs-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeInputs(folder)
  cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true })
  cpSync(join(ROOT, 'examples/together'), join(folder, 'deploy'), { recursive: true })
  for (const args of [
    ['init', '-qb', 'main'],
    ['add', '.'],
    [...AUTHOR, 'commit', '-qm', 'All'],
  ])
    execFileSync('git', args, { cwd: folder })
  for (const [page, markdown] of PAGES) {
    if (page === 'CHANGELOG.md') continue
    for (const { text } of commandsOf(page, markdown)) {
      const command = argumentsOf(text)
      if (command === undefined) continue
      const { status, stderr } = await runCli(command, { cwd: folder, input: '' })
      t.not(status, 2, `${page}: ${text}: ${stderr}`)
    }
  }
})

const AUTHOR = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']

/**
 * The arguments of a `vmcp-admission` command; undefined for other commands, for commands that keep running, that need
 * the operator's CRDs, or that contain placeholders.
 */
function argumentsOf(command: string): readonly string[] | undefined {
  const [, text = ''] = /^(?:npx --no-install |kubectl )?vmcp-admission (.*)$/.exec(command) ?? []
  const words: readonly string[] =
    text.replace(/ (?: |[|&><#;]|2>).*$/, '').match(/'[^']*'|"[^"]*"|\S+/g) ?? []
  const serves = ['lsp', 'mcp', 'playground'].includes(words[0] ?? '') && !words.includes('--write')
  return words.length === 0 || isForm(text) || serves || words.includes('--crds') || !/^[a-z-]/.test(text)
    ? undefined
    : words.map((word) => word.replace(/^(['"])(.*)\1$/, '$2'))
}

t.test('README begins with two lines that set all up, and .ci/run runs them first', async (t) => {
  const [first = ''] = /(?:^ {4}.*\n)+/m.exec(PAGES.get('README.md') ?? '') ?? []
  const lines = first
    .trim()
    .split('\n')
    .map((line) => line.trim().replace(/ +#.*$/, ''))
  t.strictSame(lines, ['npm ci && npm start', 'npm ci && npm test'])
  const run = readFileSync(join(ROOT, '.ci/run'), 'utf8')
  const phases = Array.from(run.matchAll(/^phase '(npm [^']*)' (.*)$/gm), ([, name, command]) => [
    name,
    command,
  ])
  // `npm start` is tested in test/as-a-process.test.ts.
  t.strictSame(phases.slice(0, 2), [
    ['npm ci', 'npm ci'],
    ['npm test', 'tests npm test'],
  ])
})

t.test('README shows what check prints', async (t) => {
  const blocks = [
    ...(PAGES.get('README.md') ?? '').matchAll(
      /^```console\n\$ npx --no-install vmcp-admission (check .*)\n([\s\S]*?)^```$/gm,
    ),
  ]
  t.ok(blocks.length > 0)
  for (const [, command = '', shown] of blocks) {
    const { stdout } = await runCli(command.split(' '), { cwd: ROOT })
    t.equal(stdout, shown, command)
  }
})

t.test('what README compares differs, and each state is right', async (t) => {
  const commands = Array.from(
    (PAGES.get('README.md') ?? '').matchAll(/^ {4}vmcp-admission ((?:access|steps|plan) examples.*?) +#/gm),
    ([, command = '']) => command.split(' '),
  )
  t.equal(commands.length, 3)
  for (const command of commands) {
    const { status, stdout } = await runCli(command, { cwd: ROOT })
    t.equal(status, 0, command.join(' '))
    t.match(stdout, /^ +loses: |^commit 3$|^ +BACKEND .* TOKEN /m)
  }
  for (const state of ['old', 'new']) {
    const { stdout } = await runCli(['check', '--strict', '--advice', `examples/change/${state}`], {
      cwd: ROOT,
    })
    t.match(stdout, /^14 resources in 2 files: 0 errors, 0 warnings;[^,]*$/, state)
  }
})

/**
 * Commands that would download a package named vmcp-admission from the registry, where anybody may publish one: all
 * ways of npm and similar tools except `npx --no-install`.
 */
const FETCHES =
  /\b(?:npx|npm (?:exec|x)|(?:pnpm|yarn) (?:dlx|exec)|(?:npm|pnpm|yarn) (?:i|add|install))(?: +(?!--no-install\b)-\S+)* +(?:-- +)?(?:kubectl-)?vmcp[-_]admission(?![\w-]*[./])/g

t.test('no text lets npm download a package of somebody else', async (t) => {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
  })
    .toString()
    .split('\0')
    .filter((path) => path !== '' && path !== 'test/docs.test.ts' && existsSync(join(ROOT, path)))
  t.ok(files.length > 500)
  for (const path of files) t.strictSame(readFileSync(join(ROOT, path), 'utf8').match(FETCHES), null, path)
  const rows: [text: string, fetches: boolean][] = [
    ['npx vmcp-admission check', true],
    ['npx --yes vmcp-admission check', true],
    ['npx --yes -- vmcp-admission-server', true],
    ['npm exec vmcp-admission -- check', true],
    ['npm install --save-dev vmcp-admission', true],
    ['npx --no-install vmcp-admission check', false],
    ['npm install --global ./artifacts/vmcp-admission-0.1.0.tgz', false],
    ['npm install git+https://github.com/OWNER/vmcp-admission#v0.1.0', false],
  ]
  for (const [text, fetches] of rows) t.equal(text.search(FETCHES) >= 0, fetches, text)
})

t.test('the modules that CONTRIBUTING and the pages beside it name exist', async (t) => {
  const named = [...PAGES]
    .filter(([page]) => page.startsWith('CONTRIBUTING') || page.startsWith('contributing/'))
    .flatMap(([, markdown]) => [...markdown.matchAll(/\b[\w./-]+\.ts\b/g)].map(([path]) => path))
  t.ok(named.length > 50, `${named.length} are named`)
  for (const path of new Set(named))
    t.ok(exists(`{.,src,src/kinds,src/kinds/*,src/relations,test}/${path}`), path)
})

t.test(
  'a review goes the way that CONTRIBUTING tells: each file is imported by one named before it',
  async (t) => {
    const [, way = ''] = (PAGES.get('CONTRIBUTING.md') ?? '').split('### The way of a review')
    const steps = way.split('\n').filter((line) => /^\d\. /.test(line))
    t.equal(steps.length, 8)
    const files = steps.flatMap((line) =>
      Array.from(line.matchAll(/`([\w/-]+\.ts)`/g), ([, file = '']) => file),
    )
    const importsOf = (file: string): string[] =>
      Array.from(readFileSync(`${ROOT}src/${file}`, 'utf8').matchAll(/from '(\.[^']+)'/g), ([, to = '']) =>
        join(dirname(file), to),
      )
    for (const [i, file] of files.entries()) {
      const before = files.slice(0, i).flatMap(importsOf)
      // An index.ts exports what the other files of its folder contain.
      const reached = [...before, ...before.filter((each) => each.endsWith('/index.ts')).flatMap(importsOf)]
      t.ok(i === 0 || reached.includes(file), file)
    }
  },
)

t.test('our words for the spell checker are sorted', async (t) => {
  for (const part of readFileSync(`${ROOT}cspell-words.txt`, 'utf8').trim().split('\n\n')) {
    const [, ...words] = part.split('\n')
    t.strictSame(words, [...new Set(words)].sort())
  }
})

t.test('what is broken is found', async (t) => {
  const pages = new Map([
    ['docs/README.md', '# Index\n\n[a](a.md#one-two), [a](a.md#three), [gone](gone.md), [self](#index)'],
    [
      'docs/a.md',
      '# One, `two`\n\nRFC 9110, section 5.1. As decision 9 and [decision 8](a.md) say. `decision 7`\n\n    section 2.4',
    ],
    ['docs/lost.md', '<a id="x"></a>[x](#x) [top](../README.md)'],
  ])
  t.strictSame(brokenLinks(pages), [
    'docs/README.md: docs/a.md has no anchor three',
    'docs/README.md: docs/gone.md does not exist',
  ])
  t.strictSame(unreachable(pages), ['docs/lost.md'])
  t.strictSame(unlinkedCitations(pages), ['docs/a.md: decision 9'])
  const comments =
    'Sections 2.4.5, 5.2; decision 10. A field name (RFC 9110, section 5.1), section 3 of RFC 7519'
  t.strictSame(sourcesIn(comments), ['2.4.5', '5.2', 'decision 10'])
})
