export { allows } from './allows.ts'
export {
  type Demanded,
  demandedFields,
  type KnownField,
  knownFields,
  NEWEST_RELEASE,
} from './known-fields.ts'
export { defaulted, type ReleaseRefusal, refusals, unevaluatedRules } from './refused.ts'
export { OWN_CRD, type Release, releaseOf } from './release.ts'
export { ANYTHING, compared, fieldOf, itemOf, type ReleaseSchema, schemaAt } from './schema.ts'
