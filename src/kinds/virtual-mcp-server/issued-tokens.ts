import { isAbsent } from '../../rule/index.ts'
import { advertisedScopes } from '../embedded-auth-server/advertised-scopes.ts'
import { isUnreadable, type Server } from '../embedded-auth-server/effective.ts'
import type { Spec } from './examples.ts'

/** The embedded authorization server of a VirtualMCPServer, with the resource and the scopes of its tokens. */
export interface Issuing {
  readonly server: Server
  /** The scopes of the tokens; undefined for a wrong JSON type, and with the `oidcConfig` of older releases. */
  readonly scopes: readonly string[] | undefined
  /** The resource of the tokens; undefined when absent: then releases use the URL of the Service. */
  readonly resourceUrl: string | undefined
}

/** The embedded authorization server of a VirtualMCPServer; undefined when it has none. */
export function issuingOf(spec: Spec | undefined): Issuing | undefined {
  const { authServerConfig, incomingAuth } = spec ?? {}
  if (spec === undefined || authServerConfig === undefined) return undefined
  const { oidcConfigRef } = incomingAuth ?? {}
  const isKnown =
    incomingAuth !== undefined &&
    isAbsent(incomingAuth, 'oidcConfig') &&
    !isUnreadable(incomingAuth, 'oidcConfigRef')
  return {
    server: authServerConfig,
    scopes: isKnown ? advertisedScopes(oidcConfigRef) : undefined,
    resourceUrl: oidcConfigRef?.resourceUrl === '' ? undefined : oidcConfigRef?.resourceUrl,
  }
}
