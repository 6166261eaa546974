/** Values that the examples of this kind share. */
export const issuing = (issuer: string, more: object = {}) =>
  ({ spec: { type: 'inline', inline: { issuer, ...more } } }) as const
