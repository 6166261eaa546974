import { readFileSync } from 'node:fs'

/** What both references answer, whatever they are asked. */
export const answer = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid: '705ab4f5-6393-11e8-b7cc-42010a800002', allowed: true },
})

/** The key pair of a folder, for TLS. */
export const pairIn = (folder: string) => ({
  cert: readFileSync(`${folder}/tls.crt`),
  key: readFileSync(`${folder}/tls.key`),
})

/** Milliseconds for which a connection may be idle while other servers are asked. */
export const KEEP_ALIVE = 95_000
