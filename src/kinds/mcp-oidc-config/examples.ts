/** Values that the examples of this kind share. */
export const issuing = (issuer: string) => ({ spec: { type: 'inline', inline: { issuer } } }) as const
