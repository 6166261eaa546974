import 'reflect-metadata'
import { constants } from 'node:crypto'
import type { Socket } from 'node:net'
import { type SecureContextOptions, TLSSocket, type TlsOptions } from 'node:tls'
import * as x509 from '@peculiar/x509'
import { certificatesIn } from './x509.ts'

/** The client certificates that are accepted. */
export interface ClientPolicy {
  /** The CAs (PEM) that sign client certificates. */
  readonly ca: string
  /**
   * A certificate must have one of these names as a common name or subject alternative name; when empty, any
   * certificate is accepted.
   */
  readonly subjects: readonly string[]
}

/** A client as described by its certificate. Times are Unix milliseconds. */
export interface Client {
  readonly names: readonly string[]
  readonly begins: number
  readonly expires: number
}

/** A client certificate after its verification by TLS. */
export interface Peer {
  readonly client: Client | undefined
  /** The error code with which OpenSSL refuses the certificate; undefined when OpenSSL accepts the certificate. */
  readonly refusal: string | undefined
}

/**
 * TLS options of a server that requests client certificates. A handshake without a certificate succeeds, so that the
 * HTTP answer can say why the client is refused. Sessions are not resumed, because a session from before a change of
 * the CAs would count as a certificate.
 */
export function clientTlsOptions({
  ca,
}: ClientPolicy): Pick<TlsOptions, 'requestCert' | 'rejectUnauthorized'> &
  Pick<SecureContextOptions, 'ca' | 'secureOptions'> {
  return { ca, requestCert: true, rejectUnauthorized: false, secureOptions: constants.SSL_OP_NO_TICKET }
}

/** Why the CAs cannot be used; undefined when they can. */
export function problemWithClientAuthorities(ca: string): string | undefined {
  try {
    const certificates = certificatesIn(ca)
    if (certificates.length === 0) return 'no certificate in PEM'
    if (ca.split('-----BEGIN CERTIFICATE-----').length - 1 > certificates.length)
      return 'the last certificate is cut off'
    return certificates.every((each) => each.ca) ? undefined : 'one of the certificates is not that of a CA'
  } catch {
    return 'a certificate cannot be read'
  }
}

/**
 * Returns a function that says why a request on a connection must be refused; undefined when the request is accepted.
 * For later requests on a connection the function is very fast, but still notices that the certificate expires.
 */
export function clientGate(
  { subjects }: Pick<ClientPolicy, 'subjects'>,
  now: () => number = Date.now,
): (socket: Socket) => string | undefined {
  const peers = new WeakMap<Socket, Peer>()
  return (socket) => {
    let peer = peers.get(socket)
    if (peer === undefined) {
      peer = peerOf(socket)
      peers.set(socket, peer)
    }
    return judgeClient(peer, subjects, now())
  }
}

/** Why the client is refused; undefined when it is accepted. */
export function judgeClient(
  { client, refusal }: Peer,
  subjects: readonly string[],
  now: number,
): string | undefined {
  if (client === undefined) return 'a client certificate is required'
  if (refusal !== undefined) return `the client certificate is not accepted: ${refusal}`
  if (client.expires <= now) return 'the client certificate has expired'
  if (client.begins > now) return 'the client certificate is not valid yet'
  if (subjects.length === 0 || client.names.some((name) => subjects.includes(name))) return undefined
  return 'the client certificate is for none of the allowed subjects'
}

/**
 * Reads a certificate (DER). `names`: its common names, and its subject alternative names of the types DNS, email,
 * URI and IP address.
 */
function clientOf(der: Uint8Array): Client {
  const certificate = new x509.X509Certificate(Uint8Array.from(der))
  const alternatives = certificate.getExtension(x509.SubjectAlternativeNameExtension)
  const texts = (alternatives?.names.items ?? []).filter(({ type }) => TEXTS.has(type))
  return {
    names: [...certificate.subjectName.getField('CN'), ...texts.map(({ value }) => value)],
    begins: certificate.notBefore.getTime(),
    expires: certificate.notAfter.getTime(),
  }
}

const TEXTS: ReadonlySet<x509.GeneralNameType> = new Set(['dns', 'email', 'url', 'ip'])

function peerOf(socket: Socket): Peer {
  if (!(socket instanceof TLSSocket)) return { client: undefined, refusal: undefined }
  const { raw } = socket.getPeerCertificate() as { readonly raw?: Buffer }
  if (raw === undefined) return { client: undefined, refusal: undefined }
  const refusal = socket.authorized ? undefined : codeOf(socket.authorizationError)
  try {
    return { client: clientOf(raw), refusal }
  } catch {
    return { client: { names: [], begins: 0, expires: Infinity }, refusal: refusal ?? 'unreadable' }
  }
}

/** The error code of OpenSSL: Node passes it as a string, although the type is Error. */
function codeOf(error: unknown): string {
  return typeof error === 'string' ? error : ((error as NodeJS.ErrnoException | null)?.code ?? 'unverified')
}
