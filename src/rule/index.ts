export { isInsideCluster, isPrivateAddress, isPublicHost, isThisMachine, remoteHost } from './address.ts'
export { BoundedCache } from './bounded-cache.ts'
export { Budget, OutOfBudget, withinBudget } from './budget.ts'
export {
  answering,
  type Cluster,
  compareNames,
  emptyCluster,
  nameKey,
  namesText,
  nameText,
  objectKey,
  type ObjectName,
  oncePerCluster,
} from './cluster.ts'
export { compareReleases, compareText } from './compare-text.ts'
export { type Consequence, CONSEQUENCES } from './consequence.ts'
export { changedAt, copyOf, type JsonHolder } from './copies.ts'
export { deepEqual } from './deep-equal.ts'
export { parseDuration } from './duration.ts'
export { errorMessage } from './error-message.ts'
export {
  about,
  aboutEach,
  advice,
  causeOf,
  dependingAsError,
  dependingOn,
  duplicate,
  type Edit,
  type Moving,
  end,
  type ErrorType,
  type FieldError,
  type Fix,
  forbidden,
  invalid,
  notFound,
  outage,
  type Related,
  relatedTo,
  required,
  supportedValues,
  type ErrorSubject as Thing,
  tooLong,
  tooMany,
} from './field-error.ts'
export {
  andMore,
  andNotJudged,
  causeText,
  compareFindings,
  type DescribedFinding,
  describeFinding,
  type Finding,
  findingText,
  MOST_FINDINGS,
  NOT_JUDGED,
  notDecided,
  UNDECIDED,
  withPlace,
} from './finding.ts'
export { fitsGlob, fitsPath } from './glob.ts'
export { goFloat } from './go-number.ts'
export { goField } from './go-field.ts'
export { shortQuote, withoutUserInfo } from './go-text.ts'
export { shortText } from './short-text.ts'
export { aheadOrBehind, inWords } from './in-words.ts'
export { type Memo, remembered } from './memo.ts'
export { MOST_HINTS, nearest } from './nearest.ts'
export {
  jsonKey,
  jsonPointer,
  keyOfToken,
  type Path,
  pathText,
  pathTextWithoutIndexes,
  pathTo,
  pointerToken,
  type Segment,
  segmentsOf,
  shownPath,
  stepsIn,
  valueAt,
} from './path.ts'
export { certificateBlocks } from './pem.ts'
export {
  DEEPEST,
  type Given,
  isAbsent,
  isBeingDeleted,
  isNestedOver,
  isObject,
  metadataOf,
  type Resource,
  setOwn,
  withoutDeepFields,
} from './resource.ts'
export {
  type Context,
  defineRule,
  type Example,
  type KnownFailure,
  type NonEmpty,
  oncePerReview,
  type Other,
  type Policy,
  type Rule,
  type Severity,
  type Source,
  sourceNames,
  type Statement,
} from './rule.ts'
export { slipOf } from './slip.ts'
export { atOnce, type Steps } from './steps.ts'
export { withoutEnd } from './text-end.ts'
export { isLoopback, parseUrl } from './url.ts'
