import { fileURLToPath } from 'node:url'
import { build, type BuildOptions, type BuildResult, type Metafile, type Plugin } from 'esbuild'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The oldest version of Node that can run the bundles. */
export const OLDEST_NODE = '20.19'

/**
 * Replaces undici by an empty module: the Kubernetes client needs it only for fetch, which this project never calls,
 * and compiling its 1 MB would take time at each start.
 */
const withoutFetch: Plugin = {
  name: 'without-fetch',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: 'unused' }))
    onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: 'module.exports = {}' }))
  },
}

/** Bundles modules of `src`; returns the metafile, which lists the files in the bundle. */
export const bundled = async (options: BuildOptions): Promise<Metafile> => (await built(options)).metafile

export const built = (options: BuildOptions): Promise<BuildResult<{ metafile: true }>> =>
  build({
    absWorkingDir: ROOT,
    bundle: true,
    platform: 'node',
    target: `node${OLDEST_NODE}`,
    // Saves 4 MB of memory; names are kept for readable stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 200,
    // Bundles only the kubeconfig part of the Kubernetes client: 2.5 MB of code, 106 ms of CPU to load and 82 MB of
    // memory (measured). With its typed API (CoreV1Api and others) it would be 17.5 MB, 213 ms and 121 MB, or minified
    // still 94 MB.
    alias: { '@kubernetes/client-node': './node_modules/@kubernetes/client-node/dist/config.js' },
    inject: ['src/generate/for-node-20.ts'],
    legalComments: 'external',
    logLevel: 'warning',
    plugins: [withoutFetch],
    ...options,
    define: {
      'Map.groupBy': 'mapGroupBy',
      'Object.groupBy': 'objectGroupBy',
      'Promise.withResolvers': 'promiseWithResolvers',
      ...options.define,
    },
    metafile: true,
  })

/**
 * Bundles ES modules into shared chunks, so that modules that are imported on demand are loaded on demand. All folders
 * have the same depth, so that the relative paths to the worker thread of the CLI and to `releases/` work from any
 * chunk.
 */
export const bundledModules = (outdir: string, entryPoints: Record<string, string>): Promise<Metafile> =>
  bundled({
    entryPoints,
    outdir,
    chunkNames: 'chunks/[name]-[hash]',
    splitting: true,
    format: 'esm',
    // CommonJS modules in the bundle need `require` for Node's own modules.
    banner: {
      js: "import { createRequire as requireOfBundle } from 'node:module'; const require = requireOfBundle(import.meta.url);",
    },
  })

/** The entry points: the server, the CLI and the threads of the CLI. */
export const PROGRAMS = {
  'server/main': 'src/server/main.ts',
  'cli/main': 'src/cli/main.ts',
  'cli/worker': 'src/cli/commands/role/worker.ts',
  'cli/call': 'src/cli/mcp/worker.ts',
}
