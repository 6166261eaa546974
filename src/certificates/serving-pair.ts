/** Certificate and key of a server (PEM), and the CA that signed the certificate, where it is known. */
export interface ServingPair {
  readonly certificate: string
  readonly key: string
  readonly ca?: string
}
