export {
  asApplied,
  kindOf,
  kindsNotKnown,
  nameOf,
  namespaceOf,
  putAll,
  type DocumentReading,
  stateOf,
  type GivenSubject,
  subjectOf,
} from './given-objects.ts'
export { notJudged } from './not-judged.ts'
export { type FindPlaceholder, placeholderFinder } from './own-placeholders.ts'
export {
  holdsPlaceholder,
  mayHoldPlaceholders,
  type Placeholder,
  placeholdersIn,
  unresolved,
} from './placeholder.ts'
