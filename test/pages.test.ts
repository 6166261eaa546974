import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { PAGES, pageOf } from '../src/generate/pages.ts'
import { packReleases, unpackRelease } from '../src/pages/releases.ts'
import { runCli } from './support/cli.ts'

const RELEASES = fileURLToPath(new URL('../releases/', import.meta.url))

for (const folder of [...PAGES.map((name) => `src/pages/${name}`), 'tools/mistakes/page'])
  t.test(`the page in ${folder} is one small file that can connect to nothing`, async (t) => {
    const { html } = await pageOf(folder)
    const { length } = gzipSync(html, { level: 9 })
    t.ok(length < 1_000_000, `${length} bytes with gzip`)
    const [, policy = ''] = /Content-Security-Policy"\s+content="([^"]*)"/.exec(html) ?? []
    t.match(policy, /^default-src 'none'; /)
    t.notMatch(policy, /https?:|connect-src|unsafe|\*/)
    for (const tag of ['script', 'style']) {
      const code = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(html)?.[1] ?? ''
      const digest = createHash('sha256').update(code).digest('base64')
      t.ok(policy.includes(`${tag}-src 'sha256-${digest}'`), tag)
    }
    t.notMatch(html, /<(?:script|link|img)[^>]+(?:src|href)="(?!data:)/)
    t.notMatch(html, /%[A-Z]{3,}%/)
  })

t.test('a release that is packed is the same again', async (t) => {
  const releases = new Map(
    ['0.44', '0.63'].map((minor) => {
      const { schemas } = JSON.parse(readFileSync(`${RELEASES}${minor}.json`, 'utf8')) as {
        schemas: Record<string, object>
      }
      return [minor, schemas]
    }),
  )
  const packed = packReleases(releases)
  for (const [minor, schemas] of releases) {
    const release = unpackRelease(packed, minor)
    t.equal(release?.name, `operator release ${minor}`)
    t.strictSame(Object.fromEntries(release?.schemas ?? []), schemas)
  }
  t.equal(unpackRelease(packed, '0.1'), undefined)
})

t.test('playground --write writes the page, and says where it cannot', async (t) => {
  const cwd = t.testdir({ file: '' })
  const { status, stdout } = await runCli(['playground', '--write', 'site/deep'], { cwd })
  t.strictSame([status, stdout.replaceAll('\\', '/')], [0, 'site/deep/index.html\n'])
  t.strictSame(readdirSync(`${cwd}/site/deep`), ['index.html'])
  t.equal((await runCli(['playground', '--write', 'file/deep'], { cwd })).status, 3)
  t.equal((await runCli(['playground', 'a.yaml'], { cwd })).status, 2)
})
