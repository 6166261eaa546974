import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Metafile } from 'esbuild'
import manifest from '../../package.json' with { type: 'json' }
import { packReleases } from '../pages/releases.ts'
import { licencesIn } from './bundled-packages.ts'
import { built, ROOT } from './bundling.ts'

export const PAGES = ['playground', 'audit'] as const

/**
 * For a page, by its source folder: the JSON data that the build puts into the page, by the id of the HTML element.
 * Commands of the CLI put other data into a page.
 */
const DATA: Readonly<Partial<Record<string, () => Readonly<Record<string, unknown>>>>> = {
  'src/pages/playground': () => ({ examples: examples(), releases: packReleases(releases()) }),
}

/** Writes every page as one HTML file; returns a metafile for each, which lists the source files in the page. */
export async function writePages(folder: string): Promise<Metafile[]> {
  mkdirSync(folder, { recursive: true })
  const pages: Metafile[] = []
  for (const name of PAGES) {
    const { html, metafile } = await pageOf(`src/pages/${name}`)
    writeFileSync(`${folder}/${name}.html`, html)
    pages.push(metafile)
  }
  return pages
}

/**
 * Builds the page of a source folder as one HTML file. Its Content-Security-Policy allows its own script and style, and
 * no connections.
 */
export async function pageOf(
  folder: string,
): Promise<{ readonly html: string; readonly metafile: Metafile }> {
  const { outputFiles = [], metafile } = await built({
    entryPoints: { page: `${folder}/main.ts`, style: 'src/pages/style.css' },
    outdir: 'pages',
    write: false,
    platform: 'browser',
    format: 'iife',
    target: 'es2023',
    minify: true,
    lineLimit: 0,
    charset: 'utf8',
    legalComments: 'none',
  })
  const textOf = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text.trim() ?? ''
  const [script, style] = [textOf('page.js'), textOf('style.css')]
  const policy = [
    "default-src 'none'",
    `script-src '${digest(script)}'`,
    `style-src '${digest(style)}'`,
    // Images as data: URLs are allowed for the icon, and for images in the style sheet.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const parts: Readonly<Record<string, string>> = {
    POLICY: policy,
    ICON: `data:image/svg+xml,${encodeURIComponent(MARK.replace('currentColor', '#4453d6'))}`,
    STYLE: style,
    SCRIPT: script,
    MARK,
    THEME: `<svg viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M10 3a7 7 0 0 1 0 14z" fill="currentColor"/></svg>`,
    CLOSE: `<svg viewBox="0 0 20 20" aria-hidden="true"><path d="m5 5 10 10M15 5 5 15" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"/></svg>`,
    VERSION: manifest.version,
    DATA: [
      ...Object.entries(DATA[folder]?.() ?? {}).map(([id, value]) => dataBlock(id, value)),
      licences(metafile),
    ].join('\n'),
  }
  const template = readFileSync(`${ROOT}${folder}/page.html`, 'utf8')
  // Removes white space around the script and style, because it would change the digests that the policy compares.
  const html = template
    // eslint-disable-next-line redos/no-vulnerable -- reads only a text of this project.
    .replace(/\s*(%(?:STYLE|SCRIPT)%)\s*/g, '$1')
    .replace(/%([A-Z]+)%/g, (written, part: string) => parts[part] ?? written)
  return { html, metafile }
}

/** The icon of the project: a gate with one way through. */
const MARK =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"><path d="M4 21V9a8 8 0 0 1 16 0v12"/><path d="M9 21v-6.5l2.2 2.2L16 11.5"/></svg>'

const digest = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`

const dataBlock = (id: string, value: unknown): string =>
  `<script type="application/json" id="${id}">${JSON.stringify(value).replaceAll('<', '\\u003c')}</script>`

/** The licences of the packages in the page's script, which must be distributed with it. */
const licences = (metafile: Metafile): string =>
  `<script type="text/plain" id="licences">${licencesIn(metafile).replaceAll(/<(?=\/?script|!--)/gi, '‹')}</script>`

function examples(): { readonly name: string; readonly text: string }[] {
  const folder = `${ROOT}examples/`
  return (
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => name.replaceAll('\\', '/'))
      // Leaves out change/, which has the old and the new state of a change, not examples of one state.
      .filter((name) => !name.startsWith('change/'))
      .sort()
      .map((name) => ({ name, text: readFileSync(folder + name, 'utf8') }))
  )
}

function releases(): ReadonlyMap<string, Readonly<Record<string, object>>> {
  const minors = readdirSync(`${ROOT}releases`)
    .map((name) => name.replace(/\.json$/, ''))
    .sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1]))
  return new Map(
    minors.map((minor) => {
      const text = readFileSync(`${ROOT}releases/${minor}.json`, 'utf8')
      return [minor, (JSON.parse(text) as { schemas: Record<string, object> }).schemas]
    }),
  )
}
