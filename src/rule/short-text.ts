/** The first characters of a text, and `…` where there are more. */
export const shortText = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text
