import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root from 'tap'
import { installCrds, kubectl, ROOT } from './cluster.ts'
import { deniedBy, withProviders } from './policy-answers.ts'
import { create } from './resources.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

const DRY_RUN = '?dryRun=All'
const GOOD = withProviders(1)
const BAD = withProviders(2, 'provider-0')

const folder = mkdtempSync(join(tmpdir(), 'vmcp-static-policies-'))
root.teardown(() => rmSync(folder, { recursive: true }))
const CONFIGURATION = join(folder, 'admission-configuration.yaml')
cpSync(`${ROOT}deploy/policies/static`, folder, { recursive: true })
const text = readFileSync(CONFIGURATION, 'utf8')
writeFileSync(CONFIGURATION, text.replaceAll('/etc/kubernetes/vmcp-admission', folder))

await withApiServer(
  root,
  async (t, api) => {
    await installCrds(api, 'crds')
    const answers = async () => {
      const [good, bad] = [await create(api, GOOD, DRY_RUN), await create(api, BAD, DRY_RUN)]
      const written = JSON.stringify(good.body.spec ?? {})
      return { status: good.status, writes: written.includes('offline_access'), denies: deniedBy(bad) }
    }

    await t.test('the API server denies and writes defaults from its files', async (t) => {
      // The API server refuses writes to a kind for seconds after its CRD was created.
      await waitFor(async () => (await answers()).status === 201, {
        seconds: 20,
        what: 'the CRDs to be known',
      })
      t.strictSame(await answers(), { status: 201, writes: true, denies: 'upstream-provider-name-unique' })
      const kinds = 'validatingadmissionpolicies,mutatingadmissionpolicies'
      t.equal(await kubectl(api, ['get', kinds, '-o', 'name']), '', 'no API shows them')
    })

    await t.test('the names are reserved: no API takes them', async (t) => {
      for (const plugin of ['validating', 'mutating']) {
        const file = `deploy/policies/static/${plugin}/vmcp-admission.yaml`
        const { code, stderr } = await api.kubectl(['apply', '-f', file])
        t.match([code, stderr], [1, /static\.k8s\.io/], plugin)
      }
    })

    await t.test('a file that changes is read again', async (t) => {
      rmSync(join(folder, 'validating', 'vmcp-admission.yaml'))
      const isRead = async () => (await answers()).denies === undefined
      await waitFor(isRead, { seconds: 90, what: 'the API server to read its files again' })
      t.match(await answers(), { status: 201, writes: true })
    })
  },
  {
    flags: [
      '--feature-gates=ManifestBasedAdmissionControlConfig=true',
      `--admission-control-config-file=${CONFIGURATION}`,
    ],
  },
)
