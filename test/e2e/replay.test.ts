import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root from 'tap'
import { DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { runCli } from '../support/cli.ts'
import { installCrds } from './cluster.ts'
import { createNamespaces, resourceIn } from './resources.ts'
import { withApiServer } from './suite.ts'

const folder = mkdtempSync(join(tmpdir(), 'vmcp-replay-'))
root.teardown(() => rmSync(folder, { recursive: true }))
const log = join(folder, 'audit.log')
const policy = join(folder, 'policy.yaml')
const ofGroup = (level: string, namespace: string) => ({
  level,
  namespaces: [namespace],
  resources: [{ group: DEFAULT_API_GROUP }],
  omitStages: ['RequestReceived'],
})
writeFileSync(
  policy,
  JSON.stringify({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    rules: [
      ofGroup('RequestResponse', 'tools'),
      ofGroup('Request', 'shop'),
      ofGroup('Metadata', 'bare'),
      { level: 'None' },
    ],
  }),
)

const aws = (namespace: string, name: string, matcher: string) =>
  resourceIn(namespace, {
    kind: 'MCPExternalAuthConfig',
    metadata: { name },
    spec: {
      type: 'awsSts',
      awsSts: {
        region: 'eu-central-1',
        roleMappings: [{ matcher, roleArn: 'arn:aws:iam::123456789012:role/reader', priority: 1 }],
      },
    },
  })
const MATCHER = '/spec/awsSts/roleMappings/0/matcher'
const GOOD = 'claims.sub == "a"'
const WRONG = 'claims.sub.startswith("a")'
const server = resourceIn('tools', {
  kind: 'MCPServer',
  metadata: { name: 'wiki' },
  spec: { image: 'ghcr.io/example/wiki:1.2.3', externalAuthConfigRef: { name: 'good' } },
})

const MATCHER_ERROR =
  'spec.awsSts.roleMappings[0].matcher: Invalid value: "claims.sub.startswith(\\"a\\")": 1:22: undeclared reference to \'startswith\' (did you mean \'startsWith\') (role-mapping-matcher-compiles)'

const REPLAYED = `would have been denied
  MCPExternalAuthConfig tools/wrong: ${MATCHER_ERROR}
    TIME, by admin
  MCPExternalAuthConfig tools/good: ${MATCHER_ERROR}
    2 writes, TIME to TIME, by admin
  MCPExternalAuthConfig shop/wrong: ${MATCHER_ERROR}
    TIME, by admin

would have been admitted with a warning
  MCPServer tools/wiki: spec.externalAuthConfigRef.name: type awsSts of MCPExternalAuthConfig "good" stops the operator from reconciling an MCPServer, which has no remote URL (auth-config-type-suited)
    TIME, by admin
  MCPExternalAuthConfig tools/good: spec.type: stops the operator from reconciling an MCPServer, which has no remote URL: MCPServer "wiki" (auth-config-type-suited)
    TIME, by admin
  MCPExternalAuthConfig tools/good: metadata.name: is still referred to by MCPServer "wiki"; remove the references first: these lose credentials, group or login, or the deletion does not end (deleted-resource-unreferenced)
    TIME, by admin

10 writes judged: 4 would have been denied, 3 admitted with a warning
  1 refused at that time, and not judged
  1 not judged: patches at level Request, which holds the patch alone
  1 not judged: at level Metadata, which holds no object
`

await withApiServer(
  root,
  async (t, api) => {
    await installCrds(api, 'crds')
    await createNamespaces(api, ['tools', 'shop', 'bare'])
    const run = async (args: readonly string[], object?: unknown, code = 0) => {
      const stdin = object === undefined ? {} : { stdin: JSON.stringify(object) }
      const result = await api.kubectl([...args, ...(object === undefined ? [] : ['-f', '-'])], stdin)
      t.equal(result.code, code, `${args.join(' ')}: ${result.stderr}`)
    }
    const patch = (matcher: string) => JSON.stringify([{ op: 'replace', path: MATCHER, value: matcher }])
    await run(['apply', '--server-side'], aws('tools', 'good', GOOD))
    await run(['create'], server)
    await run(['create'], aws('tools', 'wrong', WRONG))
    await run(['create', '--dry-run=server'], aws('tools', 'tried', WRONG))
    await run(['create'], aws('tools', 'good', WRONG), 1)
    for (const matcher of [WRONG, GOOD, WRONG])
      await run([
        'patch',
        'mcpexternalauthconfig',
        'good',
        '-n',
        'tools',
        '--type=json',
        '-p',
        patch(matcher),
      ])
    await run(['label', 'mcpexternalauthconfig', 'good', '-n', 'tools', 'team=a'])
    await run(['delete', 'mcpexternalauthconfig', 'good', '-n', 'tools'])
    await run(['delete', 'mcpservers', 'wiki', '-n', 'tools', '--dry-run=server'])
    await run(['delete', '--raw', `/apis/${DEFAULT_API_GROUP}/v1beta1/namespaces/tools/mcpservers`])
    await run(['create'], aws('shop', 'wrong', WRONG))
    await run(['patch', 'mcpexternalauthconfig', 'wrong', '-n', 'shop', '--type=json', '-p', patch(GOOD)])
    await run(['create'], aws('bare', 'wrong', WRONG))

    const { status, stdout, stderr } = await runCli(['replay', log], { cwd: folder })
    t.equal(status, 1)
    t.equal(stderr, '')
    t.equal(stdout.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'), REPLAYED)
    const off = ['replay', '--severity', 'role-mapping-matcher-compiles=off', log]
    t.equal((await runCli(off, { cwd: folder })).status, 0)
  },
  {
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, '--audit-log-mode=blocking'],
  },
)
