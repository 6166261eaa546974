import { defineRule, invalid } from '../../rule/index.ts'
import { originOf } from '../../kinds/embedded-auth-server/callback.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  type Gateway,
  gatewayOf,
  mayIssue,
  oidcConfig,
  oidcReferenceOf,
  oidcReferencePath,
  serving,
  serverConfig,
  type Workload,
} from '../index.ts'

const NOT_ABSOLUTE =
  "clients compare it with the URL that they call; write that, such as 'https://mcp.example.com'"
const FRAGMENT = 'must have no fragment: clients refuse such an identifier of a resource'

const checking = (resourceUrl: string) =>
  gatewayOf({
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate', audience: 'tools', resourceUrl } },
  })

export const resourceUrlAbsolute = defineRule({
  id: 'resource-url-absolute',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  needs: ['incomingAuth', 'oidcConfigRef'],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary: '`resourceUrl` is the absolute http(s) URL that clients call, without a fragment.',
  why: 'It is sent as it is in the metadata by which clients find the authorization server (RFC 9728). They compare it with the URL that they call, and ask for a token for it.',
  failure: {
    symptom:
      'clients get 401 and cannot log in: "Protected resource … does not match expected …", or the authorization server answers `invalid_target`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: ['decision 3', 'decision 21'],
  *check(resource, { cluster, self }) {
    const resourceUrl = oidcReferenceOf(resource, self.kind)?.resourceUrl
    if (!resourceUrl || isAnonymous(resource, self.kind)) return
    const isAbsolute = originOf(resourceUrl) !== undefined
    if (isAbsolute && !resourceUrl.includes('#')) return
    // With an embedded authorization server the audience must equal `resourceUrl`, and other rules check the audience.
    if (mayIssue(resource, self, cluster)) return
    const at = oidcReferencePath(self.kind).resourceUrl
    yield invalid(at, resourceUrl, isAbsolute ? FRAGMENT : `is not an absolute http(s) URL: ${NOT_ABSOLUTE}`)
  },
  examples: {
    'the URL of clients': { kind: 'VirtualMCPServer', value: checking('https://mcp.example.com/mcp') },
    'beside an embedded server, where the audience is told': {
      kind: 'MCPServer',
      value: serving({ audience: 'jira', resourceUrl: 'jira' }),
      others: [serverConfig('auth', 'okta'), oidcConfig('corporate')],
    },
    'a host without a scheme': {
      kind: 'VirtualMCPServer',
      value: checking('mcp.example.com/mcp'),
      findings: `spec.incomingAuth.oidcConfigRef.resourceUrl: Invalid value: "mcp.example.com/mcp": is not an absolute http(s) URL: ${NOT_ABSOLUTE}`,
    },
    'a fragment': {
      kind: 'MCPRemoteProxy',
      value: {
        spec: {
          oidcConfigRef: {
            name: 'corporate',
            audience: 'jira',
            resourceUrl: 'https://jira.example.com/mcp#tools',
          },
        },
      },
      findings: `spec.oidcConfigRef.resourceUrl: Invalid value: "https://jira.example.com/mcp#tools": ${FRAGMENT}`,
    },
  },
})

/** Whether a VirtualMCPServer accepts requests without tokens; false for other kinds. */
const isAnonymous = (resource: Gateway | Workload, kind: string): boolean =>
  kind === 'VirtualMCPServer' && (resource as Gateway).spec?.incomingAuth?.type !== 'oidc'
