import {
  defineRule,
  dependingOn,
  end,
  invalid,
  MOST_HINTS,
  nearest,
  nearestName,
  notFound,
  type Other,
  pathTo,
  relatedTo,
  shortQuote,
} from '../../rule/index.ts'
import {
  MCPExternalAuthConfig,
  MCPOIDCConfig,
  MCPRemoteProxy,
  MCPServer,
  MCPServerEntry,
  VirtualMCPServer,
} from '../../kinds/schemas.ts'
import { configMapReferencesOf, getConfigMap, nearEnds, seesConfigMaps } from '../index.ts'

const BUNDLE = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'

const MISSING = 'meanwhile the workload waits, or is not reconciled'

const configMap = (name: string, data: Readonly<Record<string, string>>) =>
  ({ kind: 'ConfigMap', metadata: { name }, data }) as unknown as Other

const trusting = (name: string, key = 'ca.crt') => ({
  spec: {
    type: 'inline' as const,
    inline: {
      issuer: 'https://login.example.com',
      caBundleRef: { configMapRef: { name, key } },
    },
  },
})

export const configMapReferenceFound = defineRule({
  id: 'config-map-reference-found',
  on: [MCPExternalAuthConfig, VirtualMCPServer, MCPOIDCConfig, MCPServer, MCPRemoteProxy, MCPServerEntry],
  reads: ['ConfigMap'],
  severity: 'warning',
  summary:
    'A ConfigMap of certificates or policies that is named exists, has the key, and holds certificates (only where ConfigMaps may be looked at).',
  why: 'The pod waits for a volume that cannot be mounted, or the operator does not reconcile the resource; a VirtualMCPServer has no condition that says so up to release 0.45.',
  failure: {
    symptom:
      'the pod stays in ContainerCreating: `MountVolume.SetUp failed … configmap not found`; or `CA bundle ConfigMap … does not contain key`, `contains non-PEM certificate data`',
    reportedBy: 'start-up',
    consequence: 'does not start',
    threads: ['stacklok/toolhive#5632'],
  },
  sources: ['decision 3', 'decision 22'],
  *check(resource, { cluster }) {
    if (!seesConfigMaps(cluster)) return
    let hints = MOST_HINTS
    for (const { at, name, key, isBundle, isStrict } of configMapReferencesOf(resource)) {
      const found = getConfigMap(cluster, name)
      const named = { kind: 'ConfigMap', name }
      const path = (field: string) => pathTo<string>([...at, field])
      if (found === undefined) {
        if (!cluster.knows('ConfigMap')) continue
        const near = hints-- > 0 ? nearestName(name, cluster.names('ConfigMap')) : undefined
        const hint = near === undefined ? ' yet' : `; did you mean ${shortQuote(near)}`
        const detail = `no ConfigMap of this name ${cluster.where}${hint}; ${MISSING}`
        yield relatedTo(
          dependingOn(notFound(path('name'), name, detail), named),
          nearEnds('ConfigMap', near),
          () => [['missing', 'ConfigMap', name]],
        )
      } else if (!Object.hasOwn(found.contents, key)) {
        if (!found.complete) continue
        const keys = Object.keys(found.contents)
        const near = hints-- > 0 ? nearest(key, keys.slice(0, 100)) : undefined
        const there = keys.slice(0, 3).map(shortQuote).join(', ')
        const hint =
          near !== undefined ? `; did you mean ${shortQuote(near)}` : there && `; there is ${there}`
        const detail = `the ConfigMap ${shortQuote(name)} has no such key${hint}; ${MISSING}`
        yield relatedTo(
          dependingOn(notFound(path('key'), key, detail), named),
          [end(named, pathTo(['data']), 'has these keys')],
          () => [['missing', 'ConfigMap', name, key]],
        )
      } else if (
        isBundle &&
        (found.contents[key] === 'other' || (isStrict && found.contents[key] === 'mixed'))
      ) {
        const needed = isStrict
          ? 'hold PEM certificates there, and nothing else'
          : 'begin with a PEM certificate there'
        const detail = `the ConfigMap ${shortQuote(name)} must ${needed}`
        yield relatedTo(
          dependingOn(invalid(path('key'), key, detail), named),
          [end(named, pathTo(['data', { key }]), 'holds something else')],
          () => [['certificates', name, key]],
        )
      }
    }
  },
  examples: {
    'certificates, at the key of its own': {
      kind: 'MCPOIDCConfig',
      value: trusting('corporate-ca', 'root.pem'),
      others: [configMap('corporate-ca', { 'root.pem': BUNDLE })],
    },
    'certificates, and a text behind the last one, which the process of a workload accepts': {
      kind: 'MCPOIDCConfig',
      value: trusting('corporate-ca'),
      others: [configMap('corporate-ca', { 'ca.crt': `${BUNDLE}# renewed in March\n` })],
    },
    'certificates of a remote server': {
      kind: 'MCPServerEntry',
      value: {
        spec: {
          remoteUrl: 'https://mcp.example.com',
          caBundleRef: { configMapRef: { name: 'corporate-ca', key: 'ca.crt' } },
        },
      },
      others: [configMap('corporate-ca', { 'ca.crt': BUNDLE })],
    },
    'another name': {
      kind: 'MCPOIDCConfig',
      value: trusting('corporate-ca'),
      others: [configMap('trust', { 'ca.crt': BUNDLE })],
      findings:
        'spec.inline.caBundleRef.configMapRef.name: Not found: "corporate-ca": no ConfigMap of this name in namespace \'default\' yet; meanwhile the workload waits, or is not reconciled',
    },
    'another key': {
      kind: 'MCPExternalAuthConfig',
      value: {
        spec: {
          type: 'embeddedAuthServer',
          embeddedAuthServer: {
            issuer: 'https://auth.example.com',
            upstreamProviders: [
              {
                name: 'okta',
                type: 'oidc',
                oidcConfig: {
                  issuerUrl: 'https://okta.example.com',
                  clientId: 'vmcp',
                  caBundleRef: { configMapRef: { name: 'corporate-ca', key: 'ca.pem' } },
                },
              },
            ],
          },
        },
      },
      others: [configMap('corporate-ca', { 'ca.crt': BUNDLE })],
      findings:
        'spec.embeddedAuthServer.upstreamProviders[0].oidcConfig.caBundleRef.configMapRef.key: Not found: "ca.pem": the ConfigMap "corporate-ca" has no such key; there is "ca.crt"; meanwhile the workload waits, or is not reconciled',
    },
    'a private key before the certificate': {
      kind: 'MCPOIDCConfig',
      value: trusting('corporate-ca'),
      others: [
        configMap('corporate-ca', {
          'ca.crt': `-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n${BUNDLE}`,
        }),
      ],
      findings:
        'spec.inline.caBundleRef.configMapRef.key: Invalid value: "ca.crt": the ConfigMap "corporate-ca" must begin with a PEM certificate there',
    },
    'a private key beside the certificate': {
      kind: 'VirtualMCPServer',
      value: {
        spec: {
          groupRef: { name: 'tools' },
          authServerConfig: {
            issuer: 'https://auth.example.com',
            upstreamProviders: [
              {
                name: 'okta',
                type: 'oidc',
                oidcConfig: {
                  issuerUrl: 'https://okta.example.com',
                  clientId: 'vmcp',
                  caBundleRef: { configMapRef: { name: 'corporate-ca', key: 'ca.crt' } },
                },
              },
            ],
          },
        },
      },
      others: [
        configMap('corporate-ca', {
          'ca.crt': `${BUNDLE}-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n`,
        }),
      ],
      findings:
        'spec.authServerConfig.upstreamProviders[0].oidcConfig.caBundleRef.configMapRef.key: Invalid value: "ca.crt": the ConfigMap "corporate-ca" must hold PEM certificates there, and nothing else',
    },
    ...Object.fromEntries(
      (['MCPServer', 'MCPRemoteProxy'] as const).map((kind) => [
        `policies that are not there, of an ${kind}`,
        {
          kind,
          value: { spec: { authzConfig: { type: 'configMap' as const, configMap: { name: 'policies' } } } },
          others: [configMap('policies', { 'policies.json': '{}' })],
          findings:
            'spec.authzConfig.configMap.key: Not found: "authz.json": the ConfigMap "policies" has no such key; there is "policies.json"; meanwhile the workload waits, or is not reconciled',
        },
      ]),
    ),
  },
})
