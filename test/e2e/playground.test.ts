import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { ReportedFinding } from '../../src/cli/output/report.ts'
import { runCli } from '../support/cli.ts'
import { accessibilityOf, isWiderThanItself, LOOKS, NO_BROWSER, photograph, startBrowser } from './browser.ts'
import { programFile } from '../support/programs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAIN = programFile('cli')
const TABS = ['findings', 'plans', 'defaults', 'role']

/** Runs the command in a process of its own. Returns the address that it prints, and how it ends after Ctrl+C. */
async function serve(t: Test) {
  const child = spawn(process.execPath, [MAIN, 'playground', '--port', '0'], { cwd: ROOT })
  const ended = once(child, 'exit') as Promise<[code: number | null]>
  t.teardown(() => child.kill())
  const [address] = (await once(createInterface(child.stdout), 'line')) as [string]
  const stop = async () => {
    child.kill('SIGINT')
    return (await ended)[0]
  }
  return { address, stop }
}

async function checked(name: string, args: readonly string[]): Promise<ReportedFinding[]> {
  const { stdout } = await runCli(['check', '--output', 'json', ...args, `examples/${name}`], { cwd: ROOT })
  return (JSON.parse(stdout) as { findings: ReportedFinding[] }).findings
}

const keyOf = ({ line, column, id }: ReportedFinding) => `${line}:${column} ${id}`
const cardOf = ({ severity, path, message, id }: ReportedFinding) =>
  `${severity} ${id} ${path === '' ? '' : `${path} `}${message.replace(` (${id})`, '')}`

/** The path and id of each finding on the page, and the text of those that have a card. */
const shown = (page: Page) =>
  page.evaluate(() => {
    const textOf = (element: Element | null) => element?.textContent ?? ''
    const panel = document.getElementById('panel-findings')
    const all = [...(panel?.querySelectorAll<HTMLElement>('[data-id]') ?? [])]
    return {
      keys: all.map(({ dataset: { place = '', id = '' } }) => `${place} ${id}`),
      cards: all
        .filter(({ classList }) => classList.contains('card'))
        .map(
          (card) =>
            `${textOf(card.querySelector('.badge'))} ${textOf(card.querySelector('.id'))} ${textOf(card.querySelector('.message'))}`,
        ),
    }
  })

async function load(page: Page, name: string): Promise<void> {
  await page.click('#examples-open')
  await page.click(`[data-example="${name}"]`)
}

t.setTimeout(600_000)

t.test('the playground', { skip: NO_BROWSER, timeout: 600_000 }, async (t) => {
  const [{ address, stop }, browser] = await Promise.all([serve(t), startBrowser(t)])

  await t.test('says of every example what check says', async (t) => {
    const page = await browser.newPage()
    await page.goto(address)
    const names = readdirSync(`${ROOT}examples`, { recursive: true, encoding: 'utf8' })
      // The page offers the examples of one state, not those of a change between two states.
      .filter((name) => name.endsWith('.yaml') && !name.startsWith('change/'))
      .sort()
    for (const release of ['', '0.63']) {
      await page.selectOption('#release', release)
      for (const name of release === '' ? names : names.filter((each) => each.startsWith('together/'))) {
        const found = await checked(name, release === '' ? [] : ['--release', release])
        await load(page, name)
        const { keys, cards } = await shown(page)
        t.strictSame(keys.toSorted(), found.map(keyOf).toSorted(), `${name} ${release}`)
        const texts = new Set(found.map(cardOf))
        t.strictSame(
          cards.filter((card) => !texts.has(card)),
          [],
          `${name}: texts`,
        )
      }
    }
    await page.close()
  })

  await t.test('is usable by everybody, in every theme and width', async (t) => {
    for (const look of LOOKS) {
      const page = await browser.newPage(look)
      await page.goto(address)
      for (const tab of TABS) {
        if (tab === 'role') await load(page, 'aws-sts.yaml')
        await page.click(`#tab-${tab}`)
        const name = `${tab}-${look.colorScheme}-${look.viewport.width}`
        t.strictSame(await accessibilityOf(page), [], name)
        t.notOk(await isWiderThanItself(page), `${name}: scrolls to the side`)
        await photograph(page, `playground-${name}`)
      }
      await page.click('#examples-open')
      t.strictSame(await accessibilityOf(page), [], 'the examples')
      await photograph(page, `playground-examples-${look.colorScheme}-${look.viewport.width}`)
      await page.close()
    }
  })

  await t.test('works with the keyboard alone', async (t) => {
    const page = await browser.newPage()
    await page.goto(address)
    const focused = () =>
      page.evaluate(() => {
        const active = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement
        return active?.getAttribute('aria-label') ?? active?.textContent.trim()
      })
    await page.focus('[data-id=auth-server-tokens-accepted] button.place')
    await page.keyboard.press('Enter')
    t.equal(await focused(), 'Manifests, YAML')
    t.equal(await page.locator('#editor .cm-activeLine').textContent(), '    issuer: https://mcp.example.com')
    await page.keyboard.press('F8')
    t.match(await page.locator('#editor .cm-activeLine').textContent(), /issuer: https:\/\/login/)
    await page.keyboard.press('Tab')
    t.match(await focused(), /^(?!Manifests)/, 'Tab leaves the editor')
    await page.focus('#tab-findings')
    await page.keyboard.press('ArrowRight')
    t.match(await focused(), /^Authentication/)
    t.ok(await page.isVisible('#panel-plans .graph'))
    await page.close()
  })

  await t.test('fixes, completes and decides', async (t) => {
    const page = await browser.newPage()
    await page.goto(address)
    const misspelt = readFileSync(`${ROOT}examples/aws-sts.yaml`, 'utf8').replace(
      'sessionDuration',
      'sessionDuraton',
    )
    await page.setInputFiles('#files', {
      name: 'a.yaml',
      mimeType: 'text/yaml',
      buffer: Buffer.from(misspelt),
    })
    const says = (count: string) =>
      page.waitForFunction((text) => document.getElementById('status')?.textContent.startsWith(text), count)
    await says('1 error, no warnings')
    await page.click('#panel-findings button.fix')
    await says('no errors, no warnings')
    await load(page, 'aws-sts.yaml')
    await page.click('#tab-defaults')
    t.match(await page.textContent('.diff .added'), /\+\s*\w+: /)
    await page.click('#panel-defaults button.quiet')
    await page.waitForSelector('#panel-defaults .empty')
    await page.click('#tab-role')
    await page.fill('#claims', '{"sub":"alice","groups":["billing-admins"]}')
    t.match(await page.textContent('.role'), /^arn:aws:iam::/)
    await page.fill('#claims', '{')
    t.match(await page.textContent('#claims-problem'), /./)
    t.strictSame(await accessibilityOf(page), [])
    await page.setInputFiles('#files', [
      { name: 'a.yaml', mimeType: 'text/yaml', buffer: Buffer.from('apiVersion: v1\nkind: Secret\n') },
      { name: 'b.yaml', mimeType: 'text/yaml', buffer: readFileSync(`${ROOT}examples/unauthenticated.yaml`) },
    ])
    await page.waitForFunction(() => document.getElementById('status')?.textContent.endsWith('1 resource'))
    await page.setInputFiles('#files', {
      name: 'a.yaml',
      mimeType: 'text/yaml',
      buffer: Buffer.from(
        'apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPGruop\nmetadata: { name: a }\n',
      ),
    })
    await page.waitForFunction(() => document.getElementById('status')?.textContent.endsWith('0 resources'))
    await page.close()
  })

  await t.test('sends nothing, and cannot', async (t) => {
    const page = await browser.newPage()
    const requests: string[] = []
    const errors: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) requests.push(request.url())
    })
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    page.on('pageerror', (error) => {
      errors.push(error.message)
    })
    await page.goto(address)
    await load(page, 'virtual-mcp-server.yaml')
    for (const tab of TABS) await page.click(`#tab-${tab}`)
    t.strictSame([requests, errors], [[address], []])
    const answer = await page.evaluate((url) => fetch(url).then(String, () => 'refused'), address)
    t.equal(answer, 'refused')
    t.equal((await fetch(`${address}other`)).status, 404)
    await page.close()
  })

  t.equal(await stop(), 0, 'ends with Ctrl+C')
})
