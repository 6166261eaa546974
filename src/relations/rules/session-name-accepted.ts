import { about, advice, defineRule, end, nameText, relatedTo, says, shortQuote } from '../../rule/index.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  type AuthConfig,
  authConfigNamed,
  authServer,
  awsStsOf,
  backend,
  foreignSessionCause,
  frontsOf,
  gateway,
  gatewayOf,
  mappedConfig,
  oidcConfig,
  oidcReferencePath,
  REACHED_KINDS,
  refusedSubject,
  sessionNameClaimOf,
  signingConfigs,
  unfitSessionName,
  type Workload,
} from '../index.ts'

/** Claims that tokens have, and that AWS refuses as the name of a session. */
const REFUSED: Readonly<Record<string, string>> = { iss: 'is a URL', name: 'has spaces' }

const signing = (sessionNameClaim?: string) => ({
  spec: {
    type: 'awsSts' as const,
    awsSts: {
      region: 'eu-central-1',
      fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader',
      ...(sessionNameClaim !== undefined && { sessionNameClaim }),
    },
  },
})
const configAws = mappedConfig('aws', signing().spec.awsSts)
const clusterTokens = {
  kind: 'MCPOIDCConfig',
  metadata: { name: 'corporate' },
  spec: {
    type: 'kubernetesServiceAccount',
    kubernetesServiceAccount: { issuer: 'https://container.googleapis.com/v1/x', useClusterAuth: false },
  },
}
const AUTH0 = oidcConfig('corporate', 'https://example.eu.auth0.com/')

export const sessionNameAccepted = defineRule({
  id: 'session-name-accepted',
  on: [MCPExternalAuthConfig, VirtualMCPServer, MCPRemoteProxy],
  needs: ['awsSts', 'incomingAuth', 'externalAuthConfigRef'],
  reads: [...REACHED_KINDS, 'VirtualMCPServer', 'MCPOIDCConfig'],
  severity: 'warning',
  summary: 'AWS accepts the claim that names the session: 2 to 64 letters, digits and `_+=,.@-`.',
  why: 'AWS STS refuses a name with a colon, a slash, a bar or a space, and releases do so before they ask it: every call to the backend fails. The subjects of service accounts, of GitHub Actions and of users at Auth0 have such characters.',
  failure: {
    symptom: 'every call fails: 401 `Invalid session name`; the log says `contains invalid characters`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [says('2.4.1', 'sessionNameClaim names the claim of the session.'), 'decision 3'],
  *check(resource, { cluster, self }) {
    if (self.kind !== 'MCPExternalAuthConfig') {
      const subject = refusedSubject(self.kind, resource as Workload, cluster)
      if (subject === undefined) return
      for (const { config, awsSts, at } of signingConfigs(self.kind, resource as Workload, cluster)) {
        if (sessionNameClaimOf(awsSts) !== 'sub') continue
        const named = authConfigNamed(config)
        const detail = `sub of these tokens is ${subject.text}, which AWS refuses as the name of a session: calls by ${nameText(named)} fail; set its sessionNameClaim to ${subject.instead}`
        yield relatedTo(
          about(advice(at, detail), 'refused session name', config),
          [end(named, AUTH_CONFIG.spec.awsSts.sessionNameClaim, 'is sub')],
          () => [foreignSessionCause(config)],
        )
      }
      return
    }
    const awsSts = awsStsOf(resource as AuthConfig)
    const claim = awsSts && sessionNameClaimOf(awsSts)
    if (awsSts === undefined || claim === undefined) return
    const at = AUTH_CONFIG.spec.awsSts.sessionNameClaim
    const problem = Object.hasOwn(REFUSED, claim) ? REFUSED[claim] : undefined
    if (claim !== 'sub' && problem === undefined) return
    const { fronts, others } = frontsOf(self.name, cluster)
    if (problem !== undefined) {
      const isToldAsLacking = fronts.some(({ server }) => unfitSessionName(awsSts, server) !== undefined)
      const detail = `AWS refuses ${shortQuote(claim)} as the name of a session, because it ${problem}: calls fail with 401; use sub or email`
      if (!isToldAsLacking) yield advice(at, detail)
      return
    }
    for (const caller of others) {
      const found = (cluster.get(caller.kind, caller.name) ?? {}) as Workload
      const subject = refusedSubject(caller.kind, found, cluster)
      if (subject === undefined) continue
      const detail = `in tokens for ${nameText(caller)} sub is ${subject.text}, which AWS refuses as the name of a session: every call fails; use ${subject.instead}`
      yield relatedTo(
        advice(at, detail),
        [end(caller, oidcReferencePath(caller.kind), 'accepts the tokens')],
        () => [foreignSessionCause(self.name)],
      )
      return
    }
  },
  examples: {
    'the address of the caller': {
      kind: 'MCPExternalAuthConfig',
      value: signing('email'),
      others: [gateway('vmcp'), backend('aws', 'example'), AUTH0],
    },
    'the subject of another issuer': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [oidcConfig('corporate', 'https://idp.example.com'), backend('aws', 'aws'), configAws],
    },
    'a server that issues its own subjects': {
      kind: 'MCPExternalAuthConfig',
      value: signing(),
      others: [
        gateway('vmcp', { authServerConfig: authServer('okta') }),
        backend('aws', 'example'),
        oidcConfig('corporate'),
      ],
    },
    'the name of a person': {
      kind: 'MCPExternalAuthConfig',
      value: signing('name'),
      findings:
        'spec.awsSts.sessionNameClaim: AWS refuses "name" as the name of a session, because it has spaces: calls fail with 401; use sub or email',
    },
    'the subjects of Auth0': {
      kind: 'MCPExternalAuthConfig',
      value: signing(),
      others: [gateway('vmcp'), backend('aws', 'example'), AUTH0],
      findings:
        'spec.awsSts.sessionNameClaim: in tokens for VirtualMCPServer "vmcp" sub is "auth0|…" for users, which AWS refuses as the name of a session: every call fails; use azp, or email where they have it',
    },
    'the subjects of service accounts, at a VirtualMCPServer': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [clusterTokens, backend('aws', 'aws'), configAws],
      findings:
        'spec.incomingAuth.oidcConfigRef: sub of these tokens is "system:serviceaccount:…", which AWS refuses as the name of a session: calls by MCPExternalAuthConfig "aws" fail; set its sessionNameClaim to jti',
    },
    'the subjects of GitHub Actions, at a proxy': {
      kind: 'MCPRemoteProxy',
      value: {
        spec: {
          oidcConfigRef: { name: 'corporate', audience: 'mcp' },
          externalAuthConfigRef: { name: 'aws' },
        },
      },
      others: [oidcConfig('corporate', 'https://token.actions.githubusercontent.com'), configAws],
      findings:
        'spec.externalAuthConfigRef.name: sub of these tokens is "repo:…", which AWS refuses as the name of a session: calls by MCPExternalAuthConfig "aws" fail; set its sessionNameClaim to run_id',
    },
  },
})
