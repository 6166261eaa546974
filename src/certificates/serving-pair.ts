/** The certificate and key of a server (PEM), and the CA that signed the certificate, if it is known. */
export interface ServingPair {
  readonly certificate: string
  readonly key: string
  readonly ca?: string
}
