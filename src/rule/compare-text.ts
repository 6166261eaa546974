/** Orders releases of the operator: `0.9` before `0.10`. */
export const compareReleases = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })

/** Orders texts by their UTF-16 code units, in every locale alike. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
