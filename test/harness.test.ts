import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const SUITE = fileURLToPath(new URL('e2e/strict-crds.test.ts', import.meta.url))

t.test('without an API server a suite is skipped in one line, and fails in CI', async (t) => {
  const run = (CI: string) => {
    const env = { ...process.env, PATH: '', KUBEBUILDER_ASSETS: '/nowhere', CI }
    const { status, stdout } = spawnSync(process.execPath, [SUITE], { env, encoding: 'utf8' })
    return { status, said: stdout.split('\n').filter((line) => line.includes('KUBEBUILDER_ASSETS')) }
  }
  const skipped = run('')
  t.equal(skipped.status, 0)
  t.match(skipped.said, [
    /^1\.\.0 # no etcd, no kube-apiserver, no kubectl in KUBEBUILDER_ASSETS \(\/nowhere\)/,
  ])
  t.equal(skipped.said.length, 1)
  const failed = run('true')
  t.not(failed.status, 0)
  t.match(failed.said[0], /^not ok 1 - no etcd/)
})
