export { allows } from './allows.ts'
export { refusals, unevaluatedRules } from './refused.ts'
export { compareReleases, OWN_CRD, type Release, releaseOf } from './release.ts'
export { compared, fieldOf, type ReleaseSchema, schemaAt } from './schema.ts'
