import { resourceOf, reviewOf } from '../test/support/review.ts'

const secret = (name: string) => ({ name, key: 'value' })

/** A review of about 4.6 KB: an embedded authorization server with two providers and Redis. */
export function authServerReview(): string {
  const provider = (name: string) => ({
    name,
    type: 'oauth2',
    oauth2Config: {
      authorizationEndpoint: `https://${name}.example.com/oauth/authorize`,
      tokenEndpoint: `https://${name}.example.com/oauth/token`,
      clientId: `${name}-client`,
      clientSecretRef: secret(`${name}-client`),
      scopes: ['openid', 'profile', 'email', 'repo'],
      additionalAuthorizationParams: { prompt: 'consent', login_hint: 'user@example.com' },
      tokenResponseMapping: { accessTokenPath: 'data.access_token', scopePath: 'data.scope' },
      userInfo: {
        endpointUrl: `https://${name}.example.com/api/user`,
        httpMethod: 'GET',
        additionalHeaders: { accept: 'application/json' },
        fieldMapping: { subjectFields: ['id', 'sub'], nameFields: ['login'], emailFields: ['email'] },
      },
    },
  })
  const metadata = {
    uid: '0f1d4c1e-7d0f-4a0e-9c55-0c7c9f5b2a11',
    resourceVersion: '123456',
    generation: 3,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { 'app.kubernetes.io/name': 'tools', 'app.kubernetes.io/part-of': 'platform' },
    annotations: { 'example.com/owner': 'team-platform@example.com', 'example.com/note': 'n'.repeat(920) },
    managedFields: [managedFields('kubectl')],
  }
  const spec = {
    type: 'embeddedAuthServer',
    embeddedAuthServer: {
      issuer: 'https://auth.example.com',
      signingKeySecretRefs: [secret('signing-2'), secret('signing-1')],
      hmacSecretRefs: [secret('hmac-2'), secret('hmac-1')],
      tokenLifespans: { accessTokenLifespan: '1h', refreshTokenLifespan: '168h', authCodeLifespan: '10m' },
      storage: {
        type: 'redis',
        redis: {
          aclUserConfig: {
            usernameSecretRef: secret('redis-user'),
            passwordSecretRef: secret('redis-password'),
          },
          sentinelConfig: {
            masterName: 'mymaster',
            sentinelService: { name: 'sentinel', namespace: 'redis', port: 26379 },
          },
          tls: { caCertSecretRef: secret('redis-ca') },
          sentinelTls: { caCertSecretRef: secret('redis-ca') },
          dialTimeout: '5s',
        },
      },
      upstreamProviders: [provider('github'), provider('gitlab')],
    },
  }
  return JSON.stringify(reviewOf(resourceOf('MCPExternalAuthConfig', spec, metadata)))
}

/** A review of about 25 KB: 155 role mappings, half of them with a matcher. */
export function roleMappingsReview(): string {
  const roleMappings = Array.from({ length: 155 }, (_, i) => ({
    roleArn: `arn:aws:iam::123456789012:role/platform-engineering/team-${i}`,
    priority: i,
    ...(i % 2 === 0
      ? { claim: `team-${i}-administrators` }
      : {
          matcher: `"team-${i}" in claims.groups && claims.email.endsWith("@example.com") && !has(claims.act)`,
        }),
  }))
  const spec = { type: 'awsSts', awsSts: { region: 'eu-central-1', roleMappings, service: 'aws-mcp' } }
  return JSON.stringify(reviewOf(resourceOf('MCPExternalAuthConfig', spec)))
}

function managedFields(manager: string) {
  const refs = { 'f:name': {}, 'f:key': {} }
  return {
    manager,
    operation: 'Update',
    apiVersion: 'toolhive.stacklok.dev/v1beta1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:metadata': { 'f:annotations': { '.': {}, 'f:example.com/owner': {} }, 'f:labels': { '.': {} } },
      'f:spec': {
        '.': {},
        'f:type': {},
        'f:embeddedAuthServer': { '.': {}, 'f:issuer': {}, 'f:storage': refs },
      },
    },
  }
}
