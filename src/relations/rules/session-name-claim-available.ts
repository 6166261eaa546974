import { about, advice, defineRule, end, nameText, relatedTo, says, shortQuote } from '../../rule/index.ts'
import { agent, partner, without } from '../../kinds/embedded-auth-server/examples.ts'
import {
  MCPExternalAuthConfig,
  MCPRemoteProxy,
  MCPServerEntry,
  VirtualMCPServer,
} from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  type AuthConfig,
  authConfigNamed,
  authServer,
  awsStsOf,
  backend,
  foreignSessionCause,
  foundBehind,
  frontsOf,
  gateway,
  gatewayOf,
  issuingEnd,
  mappedConfig,
  REACHED_KINDS,
  serverConfig,
  sessionRemedy,
  servedBy,
  signingProxy,
  unfitSessionName,
  type UsedAwsSts,
  joiningAs,
} from '../index.ts'
import { signing } from '../../kinds/mcp-external-auth-config/examples.ts'

const READER = 'arn:aws:iam::123456789012:role/reader'

/** An authorization server at which no user logs in, and its one client. */
const withoutLogin = { ...without(authServer(), 'upstreamProviders'), delegateClients: [agent] }
const SERVER = { spec: { type: 'embeddedAuthServer' as const, embeddedAuthServer: authServer('okta') } }

export const sessionNameClaimAvailable = defineRule({
  id: 'session-name-claim-available',
  on: [MCPExternalAuthConfig, VirtualMCPServer, MCPRemoteProxy, MCPServerEntry],
  needs: ['awsSts', 'authServerConfig', 'externalAuthConfigRef', 'embeddedAuthServer'],
  reads: [...REACHED_KINDS, 'VirtualMCPServer'],
  severity: 'warning',
  summary:
    'The claim that names the session of AWS is one that tokens of the embedded authorization server have as a string.',
  why: 'The name is read from the token that the embedded server issued, not from the one of the upstream provider: where the claim is not in it, or is a list or a number, every call to the backend fails.',
  failure: {
    symptom:
      'every call fails: `failed to extract session name: claim "…" not found in token`, `is not a non-empty string`, 401 `Missing session name claim`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [says('2.4.1', 'sessionNameClaim names the claim of the session.'), 'decision 3'],
  *check(resource, { cluster, self }) {
    const own = self.kind === 'MCPExternalAuthConfig' ? awsStsOf(resource as AuthConfig) : undefined
    if (own !== undefined) {
      for (const front of frontsOf(self.name, cluster).fronts) {
        const found = unfitSessionName(own, front.server)
        if (found === undefined) continue
        const claim = shortQuote(found.claim)
        const problem = found.isLacking ? `lack ${claim}` : `have ${claim}, which is not a string`
        const detail = `tokens that ${nameText(front.caller)} issues ${problem}: every call fails; ${sessionRemedy(front.server)}`
        yield relatedTo(
          advice(AUTH_CONFIG.spec.awsSts.sessionNameClaim, detail),
          [issuingEnd(front, 'issues the tokens')],
          () => [foreignSessionCause(self.name)],
        )
        return
      }
      return
    }
    const find = ({ awsSts, front }: UsedAwsSts) => unfitSessionName(awsSts, front.server)
    for (const { config, front, at, found, isHere, isIssuedHere } of foundBehind(
      resource,
      self,
      cluster,
      find,
    )) {
      const named = authConfigNamed(config)
      const tokens = `tokens of ${isHere ? 'the embedded server' : nameText(front.caller)}`
      const problem = found.isLacking ? `which ${tokens} lack` : `which is not a string in ${tokens}`
      const detail = `sessionNameClaim of ${nameText(named)} is ${shortQuote(found.claim)}, ${problem}: every call fails; ${sessionRemedy(front.server)}`
      yield relatedTo(
        about(advice(at, detail), 'foreign session name', config, ...(isHere ? [] : [front.caller.name])),
        [
          end(named, AUTH_CONFIG.spec.awsSts.sessionNameClaim, 'asks for the claim'),
          ...(isIssuedHere ? [] : [issuingEnd(front, 'issues the tokens')]),
        ],
        () => [foreignSessionCause(config)],
      )
    }
  },
  examples: {
    'the address of the caller': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ fallbackRoleArn: READER, sessionNameClaim: 'email' }),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), backend('aws', 'example')],
    },
    'the address of a user of another issuer, for whom a client may act': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ fallbackRoleArn: READER, sessionNameClaim: 'email' }),
      others: [
        gateway('vmcp', { authServerConfig: { ...withoutLogin, trustedIssuers: [partner] } }),
        backend('aws', 'example'),
      ],
    },
    'the subject, by default': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('aws', 'aws'), mappedConfig('aws', { fallbackRoleArn: READER })],
    },
    'clients bring the tokens of another issuer': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ fallbackRoleArn: READER, sessionNameClaim: 'preferred_username' }),
      others: [gateway('vmcp'), backend('aws', 'example')],
    },
    'a proxy whose callers bring the tokens of another issuer': {
      kind: 'MCPRemoteProxy',
      value: { spec: { externalAuthConfigRef: { name: 'aws' } } },
      others: [mappedConfig('aws', { fallbackRoleArn: READER, sessionNameClaim: 'upn' })],
    },
    'a server of a proxy, with claims that the tokens have': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [
        servedBy('example', { externalAuthConfigRef: { name: 'aws' } }),
        mappedConfig('aws', { fallbackRoleArn: READER, sessionNameClaim: 'email' }),
      ],
    },
    'a name that only the provider knows': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ fallbackRoleArn: READER, sessionNameClaim: 'preferred_username' }),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), backend('aws', 'example')],
      findings:
        'spec.awsSts.sessionNameClaim: tokens that VirtualMCPServer "vmcp" issues lack "preferred_username": every call fails; use sub or email',
    },
    'the audience, which is a list': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ fallbackRoleArn: READER, sessionNameClaim: 'aud' }),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), backend('aws', 'example')],
      findings:
        'spec.awsSts.sessionNameClaim: tokens that VirtualMCPServer "vmcp" issues have "aud", which is not a string: every call fails; use sub or email',
    },
    'the address, of clients without a login': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ fallbackRoleArn: READER, sessionNameClaim: 'email' }),
      others: [gateway('vmcp', { authServerConfig: withoutLogin }), backend('aws', 'example')],
      findings:
        'spec.awsSts.sessionNameClaim: tokens that VirtualMCPServer "vmcp" issues lack "email": every call fails; use client_id',
    },
    'the VirtualMCPServer comes later': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        backend('aws', 'aws'),
        mappedConfig('aws', { fallbackRoleArn: READER, sessionNameClaim: 'upn' }),
      ],
      findings:
        'spec.authServerConfig: sessionNameClaim of MCPExternalAuthConfig "aws" is "upn", which tokens of the embedded server lack: every call fails; use sub or email',
    },
    'a backend that joins later': {
      kind: 'MCPServerEntry',
      value: joiningAs('aws'),
      others: [
        gateway('vmcp', { authServerConfig: authServer('okta') }),
        mappedConfig('aws', { fallbackRoleArn: READER, sessionNameClaim: 'preferred_username' }),
      ],
      findings:
        'spec.externalAuthConfigRef.name: sessionNameClaim of MCPExternalAuthConfig "aws" is "preferred_username", which tokens of VirtualMCPServer "vmcp" lack: every call fails; use sub or email',
    },
    'a proxy with an authorization server of its own': {
      kind: 'MCPRemoteProxy',
      value: signingProxy,
      others: [
        serverConfig('auth', 'okta'),
        mappedConfig('aws', { fallbackRoleArn: READER, sessionNameClaim: 'upn' }),
      ],
      findings:
        'spec.externalAuthConfigRef.name: sessionNameClaim of MCPExternalAuthConfig "aws" is "upn", which tokens of the embedded server lack: every call fails; use sub or email',
    },
    'a server that comes after its proxy': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [
        servedBy('example', { externalAuthConfigRef: { name: 'aws' } }),
        mappedConfig('aws', { fallbackRoleArn: READER, sessionNameClaim: 'upn' }),
      ],
      findings:
        'spec.embeddedAuthServer: sessionNameClaim of MCPExternalAuthConfig "aws" is "upn", which tokens of MCPRemoteProxy "wiki" lack: every call fails; use sub or email',
    },
  },
})
