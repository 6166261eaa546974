import { fileURLToPath } from 'node:url'

/** Environment of a process of ours: one that was started before has compiled what this one runs. */
export const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)),
}
