/** An MCPOIDCConfig of type inline with this issuer and these other fields, for examples. */
export const issuing = (issuer: string, more: object = {}) =>
  ({ spec: { type: 'inline', inline: { issuer, ...more } } }) as const
