/** What vMCP does with a strategy of type `discovered` beside source `inline`: a rule and `plan` say it. */
export const TYPE_NOT_RESOLVED =
  "with source 'inline' vMCP does not start: nothing resolves type 'discovered'; name the configuration with type 'externalAuthConfigRef'"
