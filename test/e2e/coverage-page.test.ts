import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { measureMistakes } from '../../tools/mistakes/command.ts'
import { runCli } from '../support/cli.ts'
import { accessibilityOf, isWiderThanItself, LOOKS, NO_BROWSER, photograph, startBrowser } from './browser.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
t.setTimeout(300_000)

t.test('the page of the mistakes', { skip: NO_BROWSER, timeout: 300_000 }, async (t) => {
  const args = ['--output', 'html', '--limit', '300', 'examples/virtual-mcp-server.yaml']
  const { status, stdout } = await runCli(args, { cwd: ROOT, program: measureMistakes })
  t.equal(status, 0)
  const file = join(t.testdir(), 'coverage.html')
  writeFileSync(file, stdout)
  const browser = await startBrowser(t)
  for (const look of LOOKS) {
    const page = await browser.newPage(look)
    const errors: string[] = []
    page.on('pageerror', (error) => {
      errors.push(error.message)
    })
    await page.goto(pathToFileURL(file).href)
    const name = `coverage-${look.colorScheme}-${look.viewport.width}`
    t.strictSame([errors, await accessibilityOf(page)], [[], []], name)
    t.notOk(await isWiderThanItself(page), `${name}: scrolls to the side`)
    await photograph(page, name)
    await page.close()
  }
  const page = await browser.newPage()
  await page.goto(pathToFileURL(file).href)
  const missed = await page.locator('.card').count()
  await page.uncheck('#only-missed')
  const decidable = await page.locator('.card').count()
  t.ok(decidable > missed, `${decidable} decidable, ${missed} missed`)
  await page.fill('#search', 'there is no such thing')
  t.match(await page.textContent('#status'), /^0 mistakes/)
})
