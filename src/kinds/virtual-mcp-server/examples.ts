import type { Static } from 'typebox'
import type { Given } from '../../rule/index.ts'
import type { VirtualMCPServer } from './schema.ts'

type Server = Given<Static<typeof VirtualMCPServer>>
export type Spec = NonNullable<Server['spec']>

/** Incoming authentication with tokens that the MCPOIDCConfig `corporate` validates. */
export const oidc: NonNullable<Spec['incomingAuth']> = {
  type: 'oidc',
  oidcConfigRef: { name: 'corporate', audience: 'tools' },
}

/** A VirtualMCPServer without warnings; the settings replace fields of its spec or add some. */
export const server = (settings: Spec): Server => ({
  spec: { groupRef: { name: 'tools' }, incomingAuth: oidc, ...settings },
})

export const incoming = (incomingAuth: Spec['incomingAuth']) => server({ incomingAuth })

export const outgoing = (outgoingAuth: Spec['outgoingAuth']) => server({ outgoingAuth })

/** An embedded authorization server with one upstream provider. */
export const embedded: NonNullable<Spec['authServerConfig']> = {
  issuer: 'https://auth.example.com',
  signingKeySecretRefs: [{ name: 'auth', key: 'signing-key' }],
  hmacSecretRefs: [{ name: 'auth', key: 'hmac' }],
  upstreamProviders: [
    {
      name: 'okta',
      type: 'oidc',
      oidcConfig: { issuerUrl: 'https://okta.example.com', clientId: 'vmcp' },
    },
  ],
}
