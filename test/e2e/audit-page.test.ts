import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { plansOf } from '../../src/access/effective-authentication.ts'
import { judgeAlone } from '../../src/cli/commands/judge-documents.ts'
import { documentsOf } from '../../src/cli/input/texts.ts'
import { printHtml } from '../../src/cli/output/html.ts'
import { DEFAULT_API_GROUP as group } from '../../src/kinds/index.ts'
import { stateOf } from '../../src/documents/given-objects.ts'
import { DEFAULT_SETTINGS } from '../../src/engine/settings.ts'
import { fakeApiServer, page as answer } from '../support/fake-api-server.ts'
import { runCli } from '../support/cli.ts'
import { accessibilityOf, isWiderThanItself, LOOKS, NO_BROWSER, photograph, startBrowser } from './browser.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))
t.setTimeout(300_000)

/** The HTML page for an audit of a cluster with three namespaces, one of which has a Secret. */
function html(): string {
  const inNamespace = (file: string, namespace: string) =>
    readFileSync(EXAMPLES + file, 'utf8').replaceAll(/^metadata:$/gm, `metadata:\n  namespace: ${namespace}`)
  const secret = `apiVersion: v1\nkind: Secret\nmetadata: { name: gateway-auth, namespace: shop }\nstringData: { hmac: hunter2 }\n`
  const texts = new Map([
    ['a', inNamespace('together/three-mistakes.yaml', 'shop')],
    ['b', inNamespace('virtual-mcp-server.yaml', 'engineering')],
    ['c', inNamespace('bad/matchers.yaml', 'billing')],
    ['d', secret],
  ])
  const judging = { group, namespace: 'default', strict: false, settings: DEFAULT_SETTINGS }
  const documents = documentsOf(texts)
  const { report } = judgeAlone(documents, judging)
  const inCluster = { file: null, line: 0, column: 0 }
  const state = stateOf(
    documents.documents.map(({ document }) => document.value),
    judging,
  )
  const placed = report.findings.map((finding) => ({
    ...finding,
    ...inCluster,
    related: finding.related.map((end) => ({ ...end, ...inCluster })),
  }))
  return printHtml(
    { ...report, findings: placed, notes: [] },
    {
      scope: 'https://cluster.example',
      group,
      names: [],
      quiet: false,
      showIgnored: false,
      advice: true,
      terminal: { columns: 80, paint: (_, text) => text },
      source: () => undefined,
      plans: () => plansOf(state),
    },
  )
}

t.test('the page of an audit', { skip: NO_BROWSER, timeout: 300_000 }, async (t) => {
  const file = join(t.testdir(), 'audit.html')
  const text = html()
  writeFileSync(file, text)
  t.notMatch(text, /hunter2/, 'no value of a Secret')
  const browser = await startBrowser(t)

  await t.test('is usable by everybody, in every theme and width', async (t) => {
    for (const look of LOOKS) {
      const page = await browser.newPage(look)
      const errors: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text())
      })
      page.on('pageerror', (error) => {
        errors.push(error.message)
      })
      await page.goto(pathToFileURL(file).href)
      const name = `audit-${look.colorScheme}-${look.viewport.width}`
      t.strictSame([errors, await accessibilityOf(page)], [[], []], name)
      t.notOk(await isWiderThanItself(page), `${name}: scrolls to the side`)
      await photograph(page, name)
      await page.locator('.plan').last().scrollIntoViewIfNeeded()
      await photograph(page, `${name}-gateways`)
      await page.close()
    }
  })

  await t.test('finds what is searched for', async (t) => {
    const page = await browser.newPage()
    await page.goto(pathToFileURL(file).href)
    const headings = () => page.locator('.namespace:visible h2').allTextContents()
    t.strictSame((await headings()).length, 3)
    await page.fill('#search', 'shop octa')
    t.strictSame(await headings(), ['namespace shop'])
    t.equal(await page.locator('.card:visible').count(), 1)
    t.ok(await page.locator('.plan:visible .box.none').count())
    await page.uncheck('#show-error')
    t.equal(await page.locator('.card:visible').count(), 0)
    await page.fill('#search', 'there is no such thing')
    t.strictSame(await headings(), [])
    t.match(await page.textContent('#status'), /^0 of \d+ findings shown/)
    await page.close()
  })

  await t.test('comes from the command', async (t) => {
    const gateway = { metadata: { name: 'gateway', namespace: 'tools' }, spec: {} }
    const server = await fakeApiServer(t, 'virtualmcpservers', { lists: [answer([gateway])] })
    const args = ['audit', '--output', 'html', '--kubeconfig', server.kubeconfig]
    const { stdout } = await runCli(args, { cwd: t.testdir() })
    writeFileSync(file, stdout)
    const page = await browser.newPage()
    await page.goto(pathToFileURL(file).href)
    t.strictSame(await page.locator('.namespace h2').allTextContents(), ['namespace tools'])
    t.match(await page.locator('.plan h3').allTextContents(), ['VirtualMCPServer tools/gateway'])
    await page.close()
  })
})
