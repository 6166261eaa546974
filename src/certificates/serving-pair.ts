/** PEM texts of a serving pair, and of the CA that signed it when the folder holds one. */
export interface ServingPair {
  readonly certificate: string
  readonly key: string
  readonly ca?: string
}
