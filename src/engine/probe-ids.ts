/**
 * The ids of findings of `probe`, the only command that sends requests to configured addresses. Each id states what is
 * true when there is no such finding.
 */
export const PROBE_IDS = [
  {
    id: 'probe-host-reachable',
    severity: 'warning',
    summary: 'The host answers from where the probe runs.',
    why: 'The pods may reach what this machine does not, and the other way round: run the probe in a pod to know.',
    sources: ['2.3', '2.4.3', '2.4.5'],
  },
  {
    id: 'probe-certificate-trusted',
    severity: 'error',
    summary: 'The certificate of a host is valid, for its name, and of an authority that is trusted.',
    why: 'The operator does not connect otherwise: a login provider keeps the server from starting, keys that are not read refuse every token.',
    sources: ['2.3', '2.4.3'],
  },
  {
    id: 'probe-address-allowed',
    severity: 'warning',
    summary: 'A host whose name is at a private address here is allowed to be.',
    why: 'The process connects to private addresses only where its configuration allows it, whatever the name is.',
    sources: ['2.3', '2.4.3'],
  },
  {
    id: 'probe-redirect-free',
    severity: 'warning',
    summary: 'An address answers itself, and does not redirect.',
    why: 'The probe follows no redirect. The operator follows one to the same host, and refuses one to another host where it reads trusted issuers and registrations.',
    sources: ['2.3', '2.4.3'],
  },
  {
    id: 'probe-discovery-served',
    severity: 'error',
    summary: 'An issuer serves a discovery document with what the operator reads in it.',
    why: 'Without it a login provider keeps the server from starting, and the keys of other issuers are not found.',
    sources: ['2.3', '2.4.3'],
  },
  {
    id: 'probe-issuer-equal',
    severity: 'error',
    summary: 'An issuer is written as it calls itself, to the byte.',
    why: 'Tokens carry the issuer as it calls itself. A slash at the end is enough: every token is refused with 401, or the server does not start.',
    sources: ['2.3', '5.1'],
  },
  {
    id: 'probe-keys-usable',
    severity: 'error',
    summary:
      'The keys of an issuer can be read, and one of them is for signatures that the operator verifies.',
    why: 'Every token is refused otherwise. Tokens of callers need a key identifier (kid) and RSA or ECDSA.',
    sources: ['2.3', '2.4.3'],
  },
  {
    id: 'probe-grant-supported',
    severity: 'warning',
    summary: 'A server that lists its grant types lists those that the configuration needs.',
    why: 'The exchange or the refresh is refused with unsupported_grant_type. A server that lists none is not judged.',
    sources: ['2.4.3', '2.4.5'],
  },
  {
    id: 'probe-scope-supported',
    severity: 'warning',
    summary: 'A server that lists its scopes lists those that the configuration asks for.',
    why: 'A scope that it does not know is left out or refused; without offline_access there is no refresh token.',
    sources: ['2.4.3', '2.4.5'],
  },
  {
    id: 'probe-pkce-supported',
    severity: 'advice',
    summary: 'A login provider lists S256 among its PKCE methods.',
    why: 'The operator sends S256 in any case; a provider that does not list it may ignore it, and a client without a secret is then not protected.',
    sources: ['2.4.3'],
  },
  {
    id: 'probe-client-method-supported',
    severity: 'warning',
    summary: 'A server that lists how clients authenticate lists the way that the operator uses.',
    why: 'Token requests are refused with invalid_client, or the client is not registered.',
    sources: ['2.4.3'],
  },
  {
    id: 'probe-registration-offered',
    severity: 'warning',
    summary: 'A server at which a client registers itself names a registration endpoint.',
    why: 'The operator then guesses ISSUER/register; where nothing is there the server does not start.',
    sources: ['2.4.3'],
  },
  {
    id: 'probe-credential-configured',
    severity: 'warning',
    summary: 'A remote server that wants a token gets one.',
    why: 'It answers 401, so the gateway serves none of its tools.',
    sources: ['1'],
  },
  {
    id: 'probe-resource-metadata-served',
    severity: 'warning',
    summary: 'A server that names its `resourceUrl` serves its protected-resource metadata (RFC 9728) there.',
    why: 'The 401 of the server sends clients to this path to find who logs them in. An Ingress often routes the path of the server only.',
    sources: ['2.3'],
  },
  {
    id: 'probe-resource-metadata-agrees',
    severity: 'warning',
    summary: 'The server at a `resourceUrl` names this URL, to the byte, and the issuer of its manifests.',
    why: 'The operator serves both as the manifests have them: another server answers there, or the manifests are not applied yet. Clients refuse metadata of another resource.',
    sources: ['2.3'],
  },
  {
    id: 'probe-clock-agrees',
    severity: 'warning',
    summary: 'The clock of a host agrees with the one here, within a minute.',
    why: 'Tokens are not valid yet, or expired, for whoever has the other time.',
    sources: ['2.3', '2.4.3'],
  },
] as const

export type ProbeId = (typeof PROBE_IDS)[number]['id']
