import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Writes what the image runs: `server/main.js`, `cli/main.js`, the thread of the CLI, and chunks, so that what is
 * imported late stays late. Every folder is one deep: the thread and `releases/` are found from wherever their caller
 * ends up. `compile-cache/` holds what Node compiled of them: read through NODE_COMPILE_CACHE, it saves a quarter of the
 * start. Another version of Node, or another place of the folder, ignores it.
 */
async function bundle(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  await build({
    absWorkingDir: ROOT,
    entryPoints: {
      'server/main': 'src/server/main.ts',
      'cli/main': 'src/cli/main.ts',
      'cli/worker': 'src/cli/commands/role/worker.ts',
    },
    outdir: folder,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // 4 MB less memory; names stay for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 200,
    // Of the Kubernetes client only kubeconfigs are used. Its typed API (CoreV1Api and its like) was measured: 17.5 MB, 213 ms
    // of CPU to load and 121 MB of memory instead of 2.5 MB, 106 ms and 82 MB; minified still 94 MB.
    alias: { '@kubernetes/client-node': './node_modules/@kubernetes/client-node/dist/config.js' },
    // CommonJS modules in the bundle require modules of Node.
    banner: {
      js: "import { createRequire as requireOfBundle } from 'node:module'; const require = requireOfBundle(import.meta.url);",
    },
    legalComments: 'external',
    logLevel: 'warning',
  })
  cpSync(`${ROOT}releases`, `${folder}/releases`, { recursive: true })
  const env = { ...process.env, NODE_COMPILE_CACHE: `${folder}/compile-cache` }
  for (const program of ['server', 'cli'])
    execFileSync(process.execPath, [`${folder}/${program}/main.js`, '--help'], { env, stdio: 'ignore' })
}

await bundle(process.argv[2] ?? `${ROOT}dist`)
