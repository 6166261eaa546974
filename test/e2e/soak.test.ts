import { spawnSync } from 'node:child_process'
import t from 'tap'
import { ROOT } from './cluster.ts'
import { hasApiServer } from './suite.ts'

/** Milliseconds: a minute of faults, and up to three minutes each for the start and the end on a busy machine. */
const LONGEST = 400_000

const isRoot = process.getuid?.() === 0
if (hasApiServer(t))
  t.test(
    'a minute of bad days breaks no promise',
    { skip: isRoot || process.env.CI === 'true' ? false : 'only root can fill a disk', timeout: LONGEST },
    (t) => {
      const script = `${ROOT}bench/soak/main.ts`
      const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--minutes', '1'], {
        encoding: 'utf8',
        timeout: LONGEST,
      })
      t.equal(status, 0, `${stderr}${stdout}`)
      for (const phase of ['API server restarted', 'header floods']) t.match(stdout, `| ${phase}`)
      t.equal(stdout.match(/^held: /gm)?.length, 13)
      t.end()
    },
  )
