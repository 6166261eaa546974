import type { Part } from '../kind.ts'
import { EmbeddedAuthServer } from './schema.ts'

export const embeddedAuthServer: Part = {
  schema: EmbeddedAuthServer,
  rules: [],
}
