/** Orders texts by their UTF-16 code units, in every locale alike. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
