/** Values that the examples of this kind share. */
export const role = (name: string) => `arn:aws:iam::123456789012:role/${name}`
