import root from 'tap'
import { kindNamed } from '../../src/kinds/index.ts'
import { type ApiServer } from './api-server.ts'
import { installCrds, pathOf } from './cluster.ts'
import { exampleFiles, type Manifest } from './example-files.ts'
import { matchesGolden } from './golden.ts'
import { dryRunAll, inBatches, ruleExamples, type Status } from './rule-examples.ts'
import { withApiServer } from './suite.ts'

/**
 * What the strict CRDs refuse without a webhook. Beside a webhook, their refusal comes first and hides all that the
 * webhook would report; the golden list shows what a user then learns.
 */
await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds-strict')
  const rules = await dryRunAll(api, ruleExamples())
  const files = await inBatches(exampleFiles(), async (file) => ({
    file,
    fields: (await inBatches(file.resources, (resource) => refusedFields(api, resource))).flat(),
  }))

  await t.test('nothing valid is refused', async (t) => {
    for (const { example, answer } of rules.filter(({ example }) => example.findings.length === 0)) {
      t.equal(answer.status, 201, `${example.title}: ${answer.body.message ?? 'admitted'}`)
    }
    for (const { file, fields } of files.filter(({ file }) => !file.bad)) t.strictSame(fields, [], file.path)
  })

  await t.test('what is refused before the webhook sees it', async (t) => {
    const refused = {
      rules: rules.filter(({ answer }) => answer.status !== 201).map(({ example }) => example.title),
      examples: Object.fromEntries(
        files.flatMap(({ file, fields }) => (file.bad ? [[file.path, fields]] : [])),
      ),
    }
    await matchesGolden(t, 'strict-crds-refused.json', `${JSON.stringify(refused, undefined, 2)}\n`)
  })
})

/** The fields in the causes of the API server's refusal; empty when it admits the resource. */
async function refusedFields(api: ApiServer, resource: Manifest): Promise<string[]> {
  const kind = kindNamed.get(resource.kind)
  if (kind === undefined) throw new Error(`${resource.kind} is not one of our kinds`)
  const { status, body } = await api.request<Status>('POST', `${pathOf(kind)}?dryRun=All`, resource)
  return status === 201 ? [] : (body.details?.causes ?? []).map(({ field }) => field).toSorted()
}
