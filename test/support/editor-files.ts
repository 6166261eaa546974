/** The files of a small workspace in which every reference is found. */
export const API = 'apiVersion: toolhive.stacklok.dev/v1beta1'

export const GATEWAY = `${API}
kind: VirtualMCPServer
metadata:
  name: gateway
spec:
  groupRef:
    name: tools
  incomingAuth:
    type: oidc
    oidcConfigRef:
      name: login
      audience: https://mcp.example.com
      resourceUrl: https://mcp.example.com
  authServerConfig:
    issuer: https://mcp.example.com
    upstreamProviders:
      - name: okta
        type: oidc
        oidcConfig:
          issuerUrl: https://idp.example.com
          clientId: vmcp
          clientSecretRef:
            name: upstream
            key: secret
`
export const BACKEND = `${API}
kind: MCPServer
metadata:
  name: wiki
spec:
  image: ghcr.io/example/wiki
  groupRef:
    name: tools
  externalAuthConfigRef:
    name: wiki
`
export const CONFIG = `${API}
kind: MCPExternalAuthConfig
metadata:
  name: wiki
spec:
  type: upstreamInject
  upstreamInject:
    providerName: okta # of the gateway
`
export const GROUP = `${API}\nkind: MCPGroup\nmetadata:\n  name: tools\n`
export const OIDC = `${API}
kind: MCPOIDCConfig
metadata:
  name: login
spec:
  type: inline
  inline:
    issuer: https://mcp.example.com
`
export const SECRET =
  'apiVersion: v1\nkind: Secret\nmetadata:\n  name: upstream\nstringData:\n  secret: ${SECRET}\n'
