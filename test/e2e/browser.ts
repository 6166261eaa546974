import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AxeResults, RunOptions } from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const SCREENSHOTS = fileURLToPath(new URL('../../artifacts/screenshots/', import.meta.url))
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** The path of Debian's `chromium` on the PATH. */
const PROGRAM = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'chromium'))
  .find((path) => existsSync(path))

export const NO_BROWSER =
  PROGRAM === undefined && process.env.CI !== 'true'
    ? 'chromium is not on the PATH: apt-get install chromium'
    : false

export async function startBrowser(t: Test): Promise<Browser> {
  if (PROGRAM === undefined) throw new Error('CI needs chromium on the PATH')
  const browser = await chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  return browser
}

/** Light and dark theme, each with a narrow and a wide window. */
export const LOOKS = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [360, 1280].map((width) => ({ colorScheme, viewport: { width, height: 820 } })),
)

/** The accessibility rules that the page violates, with the elements. */
export async function accessibilityOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations, incomplete } = await page.evaluate(() => {
    const { axe } = globalThis as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } }
    return axe.run({ resultTypes: ['violations', 'incomplete'] })
  })
  // The incomplete checks do not matter; their list only shows that axe ran.
  if (!Array.isArray(incomplete)) throw new Error('axe did not run')
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
}

export const isWiderThanItself = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > innerWidth)

/** Saves a screenshot for people to look at. */
export async function photograph(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.mouse.move(1, 1)
  await page.screenshot({ path: `${SCREENSHOTS}${name}.png` })
}
