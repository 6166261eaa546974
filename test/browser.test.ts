import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import { build } from 'esbuild'
import t from 'tap'
import { DEFAULT_API_GROUP } from '../src/kinds/index.ts'
import { resourceOf } from './support/review.ts'

/** A module that imports the engine and the analysis of access, as the playground page does. */
const ENTRY = `
  export { ALL_DEFAULTS, createJudge } from './src/engine/index.ts'
  export { kindNamed } from './src/kinds/index.ts'
  export { DEFAULT_SETTINGS } from './src/engine/settings.ts'
  export { configMapFacts } from './src/relations/config-maps.ts'
  export { decideRole } from './src/access/role/decide.ts'
  export { planOf } from './src/access/effective-authentication.ts'
`

/** The globals that the engine uses and that both browsers and Node have. */
const GLOBALS = { atob, btoa, TextEncoder, TextDecoder, URL, structuredClone }

t.test('the engine runs where there is no Node', async (t) => {
  const { outputFiles, warnings } = await build({
    stdin: { contents: ENTRY, resolveDir: fileURLToPath(new URL('../', import.meta.url)) },
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'iife',
    globalName: 'engine',
    logLevel: 'silent',
  })
  t.strictSame(warnings, [])
  const matcher = 'claims.name == "Zoë" &&'
  const object = resourceOf(
    'MCPExternalAuthConfig',
    {
      type: 'awsSts',
      awsSts: {
        region: 'eu-central-1',
        roleMappings: [{ matcher, roleArn: 'arn:aws:iam::123456789012:role/a' }],
      },
    },
    { name: 'Bad_Name', labels: { a: 'x'.repeat(64) } },
  )
  const judged = `
    const { DEFAULT_SETTINGS: settings, ALL_DEFAULTS: defaults } = engine
    const world = { group: '${DEFAULT_API_GROUP}', settings, release: 'specification', state: 'no cluster', defaults }
    const kind = engine.kindNamed.get('MCPExternalAuthConfig')
    const file = { kind, namespace: 'default', name: 'a', object: ${JSON.stringify(object)}, stored: 'nothing', ignores: [] }
    const { errors, warnings } = engine.createJudge(world).file(file)
    const facts = engine.configMapFacts({ binaryData: { a: btoa('x'), b: '%' } })
    JSON.stringify({ ids: [...errors, ...warnings].map(({ id }) => id), contents: facts.contents })
  `
  const text = runInNewContext(`${outputFiles[0]?.text ?? ''};${judged}`, GLOBALS) as string
  t.strictSame(JSON.parse(text), {
    ids: ['metadata-accepted', 'metadata-accepted', 'role-mapping-matcher-compiles'],
    contents: { a: 'other', b: 'other' },
  })
})
