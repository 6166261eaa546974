import { fileURLToPath } from 'node:url'

/** Environment variables with which Node processes share compiled code, so that only the first one compiles it. */
export const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)),
}
