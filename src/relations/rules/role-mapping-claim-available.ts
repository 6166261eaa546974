import { about, advice, defineRule, end, nameText, type Path, relatedTo, says } from '../../rule/index.ts'
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
  type AwsSts,
  awsStsOf,
  backend,
  claimsText,
  consequenceOf,
  type Foreign,
  foreignMappings,
  foreignRolesCause,
  foundBehind,
  frontsOf,
  gateway,
  gatewayOf,
  inline,
  issuingEnd,
  mappedConfig,
  ownClaimsText,
  REACHED_KINDS,
  serverConfig,
  servedBy,
  signingProxy,
  type UsedAwsSts,
  joiningAs,
} from '../index.ts'

const ADMIN = 'arn:aws:iam::123456789012:role/admin'
const READER = 'arn:aws:iam::123456789012:role/reader'
const SERVER = { spec: { type: 'embeddedAuthServer' as const, embeddedAuthServer: authServer('okta') } }

export const roleMappingClaimAvailable = defineRule({
  id: 'role-mapping-claim-available',
  on: [MCPExternalAuthConfig, VirtualMCPServer, MCPRemoteProxy, MCPServerEntry],
  needs: ['awsSts', 'authServerConfig', 'externalAuthConfigRef', 'embeddedAuthServer'],
  reads: [...REACHED_KINDS, 'VirtualMCPServer'],
  severity: 'warning',
  summary: 'Role mappings behind an embedded authorization server ask for claims that its own tokens have.',
  why: 'The role of AWS is chosen by the token that the embedded server issued: sub, name, email, client_id, scp and the claims of every JWT. Groups and roles stay in the token of the upstream provider, whatever its scopes, so a mapping that asks for them never matches; policies of Cedar see the upstream token, roles do not.',
  failure: {
    symptom:
      'every caller gets the fallback role, or `failed to select IAM role: no role mapping found`, 403 `Failed to determine IAM role`',
    reportedBy: 'nobody',
    consequence: 'wrong identity',
  },
  sources: [says('2.4.1', 'roleClaim names the claim into which mappings with claim look.'), 'decision 3'],
  *check(resource, context) {
    const { cluster, self } = context
    const own = self.kind === 'MCPExternalAuthConfig' ? awsStsOf(resource as AuthConfig) : undefined
    if (own !== undefined) {
      for (const front of frontsOf(self.name, cluster).fronts) {
        const found = foreignMappings(own, front.server, context)
        if (found === undefined) continue
        const detail = `tokens that ${nameText(front.caller)} issues lack ${claimsText(found.claims)}: ${consequenceOf(own, found)}; ${ownClaimsText(front.server)}`
        yield relatedTo(advice(placeIn(own, found), detail), [issuingEnd(front, 'issues the tokens')], () => [
          foreignRolesCause(self.name),
        ])
        return
      }
      return
    }
    const find = ({ awsSts, front }: UsedAwsSts) => foreignMappings(awsSts, front.server, context)
    for (const use of foundBehind(resource, self, cluster, find)) {
      const { config, awsSts, front, at, found, isHere, isIssuedHere } = use
      const named = authConfigNamed(config)
      const issued = isHere ? 'tokens issued here' : `tokens that ${nameText(front.caller)} issues`
      const detail = `${nameText(named)} asks for ${claimsText(found.claims)}, which ${issued} lack: ${consequenceOf(awsSts, found)}; ${ownClaimsText(front.server)}`
      yield relatedTo(
        about(advice(at, detail), 'foreign role claims', config, ...(isHere ? [] : [front.caller.name])),
        [
          end(named, AUTH_CONFIG.spec.awsSts.roleMappings, 'asks for the claims'),
          ...(isIssuedHere ? [] : [issuingEnd(front, 'issues the tokens')]),
        ],
        () => [foreignRolesCause(config)],
      )
    }
  },
  examples: {
    'claims that the tokens have': {
      kind: 'MCPExternalAuthConfig',
      value: mapped({
        roleClaim: 'scp',
        roleMappings: [
          { roleArn: ADMIN, matcher: 'claims.email.endsWith("@example.com")' },
          { roleArn: READER, matcher: '"staff" in claims.groups || claims.sub == "ann"' },
          { roleArn: READER, matcher: '!has(claims.act)' },
        ],
      }),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), backend('aws', 'example')],
    },
    'clients bring the tokens of another issuer': {
      kind: 'MCPExternalAuthConfig',
      value: mapped({ roleMappings: [{ roleArn: ADMIN, claim: 'admins' }] }),
      others: [gateway('vmcp'), backend('aws', 'example', 'MCPRemoteProxy')],
    },
    'no embedded server': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [
        backend('aws', 'aws'),
        mappedConfig('aws', { roleMappings: [{ roleArn: ADMIN, claim: 'admins' }] }),
      ],
    },
    'a proxy whose callers bring the tokens of another issuer': {
      kind: 'MCPRemoteProxy',
      value: { spec: { externalAuthConfigRef: { name: 'aws' } } },
      others: [mappedConfig('aws', { roleMappings: [{ roleArn: ADMIN, claim: 'admins' }] })],
    },
    'a server of a proxy, with claims that the tokens have': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [
        servedBy('example', { externalAuthConfigRef: { name: 'aws' } }),
        mappedConfig('aws', { roleClaim: 'scp', roleMappings: [{ roleArn: ADMIN, claim: 'admins' }] }),
      ],
    },
    'groups, as the claim of roles and in a matcher': {
      kind: 'MCPExternalAuthConfig',
      value: mapped({
        fallbackRoleArn: READER,
        roleClaim: 'groups',
        roleMappings: [
          { roleArn: ADMIN, claim: 'admins' },
          { roleArn: ADMIN, matcher: 'has(claims.groups) && "ops" in claims.groups' },
        ],
      }),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), backend('aws', 'example')],
      findings:
        'spec.awsSts.roleMappings: tokens that VirtualMCPServer "vmcp" issues lack "groups": no mapping matches, everyone gets fallbackRoleArn; they have sub, name, email, client_id, scp',
    },
    'roles, named, and nothing to fall back to': {
      kind: 'MCPExternalAuthConfig',
      value: mapped({ roleClaim: 'roles', roleMappings: [{ roleArn: ADMIN, claim: 'admin' }] }),
      others: [
        gateway('vmcp', { authServerConfig: authServer('okta'), outgoingAuth: inline({ aws: 'example' }) }),
      ],
      findings:
        'spec.awsSts.roleClaim: tokens that VirtualMCPServer "vmcp" issues lack "roles": no mapping matches, nobody gets a role; they have sub, name, email, client_id, scp',
    },
    'scopes, which these tokens have as the list `scp`': {
      kind: 'MCPExternalAuthConfig',
      value: mapped({
        fallbackRoleArn: READER,
        roleMappings: [{ roleArn: ADMIN, matcher: '"admin" in claims.scope' }],
      }),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), backend('aws', 'example')],
      findings:
        'spec.awsSts.roleMappings[0]: tokens that VirtualMCPServer "vmcp" issues lack "scope": no mapping matches, everyone gets fallbackRoleArn; they have sub, name, email, client_id, scp',
    },
    'one of several': {
      kind: 'MCPExternalAuthConfig',
      value: mapped({
        roleMappings: [
          { roleArn: ADMIN, matcher: 'claims.realm_access.roles.exists(r, r == "admin")' },
          { roleArn: READER, matcher: 'claims.email.endsWith("@example.com")' },
        ],
      }),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), backend('aws', 'example')],
      findings:
        'spec.awsSts.roleMappings[0]: tokens that VirtualMCPServer "vmcp" issues lack "realm_access": roleMappings[0] never matches; they have sub, name, email, client_id, scp',
    },
    'the VirtualMCPServer comes later': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta'), outgoingAuth: inline({ aws: 'aws' }) }),
      others: [
        backend('aws'),
        mappedConfig('aws', { roleMappings: [{ roleArn: ADMIN, matcher: '"ops" in claims.groups' }] }),
      ],
      findings:
        'spec.outgoingAuth.backends[aws].externalAuthConfigRef.name: MCPExternalAuthConfig "aws" asks for "groups", which tokens issued here lack: no mapping matches, nobody gets a role; they have sub, name, email, client_id, scp',
    },
    'a backend that joins later': {
      kind: 'MCPServerEntry',
      value: joiningAs('aws'),
      others: [
        gateway('vmcp', { authServerConfig: authServer('okta') }),
        mappedConfig('aws', { roleMappings: [{ roleArn: ADMIN, claim: 'admins' }] }),
      ],
      findings:
        'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "aws" asks for "groups", which tokens that VirtualMCPServer "vmcp" issues lack: no mapping matches, nobody gets a role; they have sub, name, email, client_id, scp',
    },
    'a proxy with an authorization server of its own': {
      kind: 'MCPRemoteProxy',
      value: signingProxy,
      others: [
        serverConfig('auth', 'okta'),
        mappedConfig('aws', {
          fallbackRoleArn: READER,
          roleMappings: [{ roleArn: ADMIN, claim: 'admins' }],
        }),
      ],
      findings:
        'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "aws" asks for "groups", which tokens issued here lack: no mapping matches, everyone gets fallbackRoleArn; they have sub, name, email, client_id, scp',
    },
    'a server that comes after its proxy': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [
        servedBy('example', { externalAuthConfigRef: { name: 'aws' } }),
        mappedConfig('aws', { roleMappings: [{ roleArn: ADMIN, claim: 'admins' }] }),
      ],
      findings:
        'spec.embeddedAuthServer: MCPExternalAuthConfig "aws" asks for "groups", which tokens that MCPRemoteProxy "wiki" issues lack: no mapping matches, nobody gets a role; they have sub, name, email, client_id, scp',
    },
  },
})

function mapped(awsSts: AwsSts) {
  return { spec: { type: 'awsSts' as const, awsSts: { region: 'eu-central-1', ...awsSts } } }
}

/**
 * The path for a finding: `roleClaim` if a mapping depends on it; otherwise the role mapping that never matches, or
 * the list of role mappings when several never match.
 */
function placeIn(awsSts: AwsSts, { mappings, byRoleClaim }: Foreign): Path<unknown> {
  const path = AUTH_CONFIG.spec.awsSts
  // The default counts as absent: a write of it by /mutate does not move the finding.
  if (byRoleClaim && awsSts.roleClaim && awsSts.roleClaim !== 'groups') return path.roleClaim
  const [only, ...others] = mappings
  return only === undefined || others.length > 0 ? path.roleMappings : path.roleMappings.at(only)
}
