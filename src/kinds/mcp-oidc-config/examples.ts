/** Values that the examples for MCPOIDCConfig share. */
export const issuing = (issuer: string, more: object = {}) =>
  ({ spec: { type: 'inline', inline: { issuer, ...more } } }) as const
