import { about, advice, defineRule, nameText, relatedTo } from '../../rule/index.ts'
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
  configWith,
  foundBehind,
  frontsOf,
  gateway,
  gatewayOf,
  githubServer,
  googleServer,
  inline,
  joiningAs,
  mappedConfig,
  opaqueCause,
  opaqueSubject,
  opaqueTexts,
  providerEnd,
  REACHED_KINDS,
  servedBy,
  signingProxy,
  type UsedAwsSts,
} from '../index.ts'
import { signing } from '../../kinds/mcp-external-auth-config/examples.ts'

const READER = 'arn:aws:iam::123456789012:role/reader'

export const awsSubjectTokenReadable = defineRule({
  id: 'aws-subject-token-readable',
  on: [MCPExternalAuthConfig, VirtualMCPServer, MCPRemoteProxy, MCPServerEntry],
  needs: ['awsSts', 'authServerConfig', 'externalAuthConfigRef', 'embeddedAuthServer'],
  reads: [...REACHED_KINDS, 'VirtualMCPServer'],
  severity: 'warning',
  summary: 'The access token that is sent to AWS STS comes from a provider that issues JWTs.',
  why: 'AssumeRoleWithWebIdentity takes a JWT of a provider that IAM knows. The token sent is the access token of the provider that subjectProviderName names, or, by a proxy and with source inline, of the first one, so the order of providers counts; those of GitHub and Google are opaque.',
  failure: {
    symptom:
      'every call fails: `STS token exchange failed`, `InvalidIdentityToken`, 401 `AWS credential exchange failed`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['stacklok/toolhive#5697'],
  },
  sources: ['decision 3'],
  *check(resource, { cluster, self }) {
    const awsSts = self.kind === 'MCPExternalAuthConfig' ? awsStsOf(resource as AuthConfig) : undefined
    if (awsSts !== undefined) {
      for (const front of frontsOf(self.name, cluster).fronts) {
        const found = opaqueSubject(awsSts, front)
        if (found === undefined) continue
        const { subject, remedy } = opaqueTexts(found, front)
        const detail = `${nameText(front.caller)} sends STS the access token of ${subject}, which is no JWT, so every call fails; ${remedy}`
        yield relatedTo(
          advice(AUTH_CONFIG.spec.awsSts.subjectProviderName, detail),
          [providerEnd(front, found.index, 'issues the token')],
          () => [opaqueCause(self.name)],
        )
        return
      }
      return
    }
    const find = ({ awsSts, front }: UsedAwsSts) => opaqueSubject(awsSts, front)
    for (const { config, front, at, found, isHere } of foundBehind(resource, self, cluster, find)) {
      const named = authConfigNamed(config)
      const { subject, remedy } = opaqueTexts(found, front)
      const place = isHere ? '' : ` of ${nameText(front.caller)}`
      const detail = `${nameText(named)} sends STS the access token of ${subject}${place}, which is no JWT: every call fails; ${remedy}`
      yield relatedTo(
        about(advice(at, detail), 'opaque subject token', config, ...(isHere ? [] : [front.caller.name])),
        [providerEnd(front, found.index, 'issues the token')],
        () => [opaqueCause(config)],
      )
    }
  },
  examples: {
    'a provider of OpenID Connect, named': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ fallbackRoleArn: READER, subjectProviderName: 'okta' }),
      others: [gateway('vmcp', { authServerConfig: githubServer('okta') }), backend('aws', 'example')],
    },
    'the first provider issues JWTs': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: authServer('okta', 'github'),
        outgoingAuth: inline({ aws: 'aws' }),
      }),
      others: [backend('aws'), mappedConfig('aws', { fallbackRoleArn: READER })],
    },
    'none named, discovered: releases send the token that vMCP issued': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: githubServer('okta') }),
      others: [backend('aws', 'aws'), mappedConfig('aws', { fallbackRoleArn: READER })],
    },
    'no embedded server': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [backend('aws', 'aws'), mappedConfig('aws', { fallbackRoleArn: READER })],
    },
    'a backend that joins, with a provider that issues JWTs': {
      kind: 'MCPServerEntry',
      value: joiningAs('aws'),
      others: [
        gateway('vmcp', { authServerConfig: githubServer('okta') }),
        mappedConfig('aws', { fallbackRoleArn: READER, subjectProviderName: 'okta' }),
      ],
    },
    'a login for a proxy, at a provider that issues JWTs': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: { type: 'embeddedAuthServer', embeddedAuthServer: authServer('okta') } },
      others: [
        servedBy('example', { externalAuthConfigRef: { name: 'aws' } }),
        mappedConfig('aws', { fallbackRoleArn: READER }),
      ],
    },
    'a proxy whose callers bring the tokens of another issuer': {
      kind: 'MCPRemoteProxy',
      value: { spec: { externalAuthConfigRef: { name: 'aws' } } },
      others: [mappedConfig('aws', { fallbackRoleArn: READER })],
    },
    'GitHub, named': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ fallbackRoleArn: READER, subjectProviderName: 'github' }),
      others: [gateway('vmcp', { authServerConfig: githubServer('okta') }), backend('aws', 'example')],
      findings:
        'spec.awsSts.subjectProviderName: VirtualMCPServer "vmcp" sends STS the access token of "github" (GitHub), which is no JWT, so every call fails; set awsSts.subjectProviderName to "okta"',
    },
    'none named, and GitHub comes first': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: githubServer('okta'), outgoingAuth: inline({}, 'aws') }),
      others: [backend('aws'), mappedConfig('aws', { fallbackRoleArn: READER })],
      findings:
        'spec.outgoingAuth.default.externalAuthConfigRef.name: MCPExternalAuthConfig "aws" sends STS the access token of the first provider "github" (GitHub), which is no JWT: every call fails; set awsSts.subjectProviderName to "okta"',
    },
    'a backend that joins a VirtualMCPServer with a login at GitHub': {
      kind: 'MCPServerEntry',
      value: joiningAs('aws'),
      others: [
        gateway('vmcp', { authServerConfig: githubServer('okta') }),
        mappedConfig('aws', { fallbackRoleArn: READER, subjectProviderName: 'github' }),
      ],
      findings:
        'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "aws" sends STS the access token of "github" (GitHub) of VirtualMCPServer "vmcp", which is no JWT: every call fails; set awsSts.subjectProviderName to "okta"',
    },
    'a proxy with a login at Google': {
      kind: 'MCPRemoteProxy',
      value: signingProxy,
      others: [
        configWith('auth', 'embeddedAuthServer', googleServer()),
        mappedConfig('aws', { fallbackRoleArn: READER }),
      ],
      findings:
        'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "aws" sends STS the access token of the first provider "google" (Google), which is no JWT: every call fails; log in at a provider that issues JWTs',
    },
    'a login at Google for a proxy': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: { type: 'embeddedAuthServer', embeddedAuthServer: googleServer() } },
      others: [
        servedBy('example', { externalAuthConfigRef: { name: 'aws' } }),
        mappedConfig('aws', { fallbackRoleArn: READER }),
      ],
      findings:
        'spec.embeddedAuthServer: MCPExternalAuthConfig "aws" sends STS the access token of the first provider "google" (Google) of MCPRemoteProxy "wiki", which is no JWT: every call fails; log in at a provider that issues JWTs',
    },
  },
})
