/** Compares two operator releases for sorting: `0.9` comes before `0.10`. */
export const compareReleases = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })

/** Compares two texts for sorting, by their UTF-16 code units, in every locale alike. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
