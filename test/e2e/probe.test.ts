import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import root from 'tap'
import { makeAuthority, signLeaf } from '../../src/certificates/x509.ts'
import { runCli } from '../support/cli.ts'
import { startProvider } from '../support/login-provider.ts'
import { installCrds } from './cluster.ts'
import { createNamespaces, resourceIn, storeAll } from './resources.ts'
import { withApiServer } from './suite.ts'

const lifetime = { now: Date.now(), lifetime: 86_400_000 }

await withApiServer(root, async (t, api) => {
  const authority = await makeAuthority('probe', lifetime)
  const tls = await signLeaf(authority, ['localhost'], lifetime)
  const provider = await startProvider({ tls, issuer: (url) => `${url}/` })
  const folder = mkdtempSync(`${tmpdir()}/vmcp-probe-`)
  t.teardown(() => {
    provider.close()
    rmSync(folder, { recursive: true })
  })
  await installCrds(api, 'crds')
  await createNamespaces(api, ['tools', 'shop'])
  const callers = (namespace: string, issuer: string) =>
    resourceIn(namespace, {
      kind: 'MCPOIDCConfig',
      metadata: { name: 'callers' },
      spec: {
        type: 'inline',
        inline: {
          issuer,
          jwksAllowPrivateIP: true,
          caBundleRef: { configMapRef: { name: 'ca', key: 'ca.crt' } },
        },
      },
    })
  await storeAll(api, [callers('tools', provider.url), callers('shop', `${provider.url}/`)])
  const bundle = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'ca', namespace: 'tools' },
    data: { 'ca.crt': authority.certificate },
  }
  await api.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(bundle) })
  const run = (...args: string[]) =>
    runCli(['probe', '--cluster', '--kubeconfig', api.kubeconfig, ...args], { cwd: folder })

  await t.test('authorities are those of ConfigMaps in the cluster', async (t) => {
    const { status, stdout } = await run()
    const slash = `spec.inline.issuer: Invalid value: "${provider.url}": its discovery document says "${provider.url}/", which differs by the slash at its end`
    t.ok(stdout.includes(`MCPOIDCConfig tools/callers: error: ${slash}`), stdout)
    t.match(
      stdout,
      /note: MCPOIDCConfig shop\/callers: the certificate of localhost:\d+ is not judged: ConfigMap 'ca'/,
    )
    t.match(stdout, /^2 resources in \S+, \d requests sent: 1 error, 0 warnings, 1 note$/m)
    t.equal(status, 1)
  })

  await t.test('of some namespaces', async (t) => {
    const { status, stdout } = await run('--namespaces', 'shop')
    t.match(stdout, /^1 resource in \S+, 1 request sent: 0 errors, 0 warnings, 1 note$/m)
    t.equal(status, 0)
  })
})
