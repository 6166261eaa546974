import { isAbsent } from '../../rule/index.ts'
import { advertisedScopes } from '../embedded-auth-server/advertised-scopes.ts'
import { isUnreadable, type Server } from '../embedded-auth-server/effective.ts'
import type { Spec } from './examples.ts'

/** The embedded authorization server of a VirtualMCPServer, and what it issues tokens for. */
export interface Issuing {
  readonly server: Server
  /** Undefined where they cannot be read, or stand in an inline configuration of older releases. */
  readonly scopes: readonly string[] | undefined
  /** Undefined where it is not given: it is then the URL of the Service. */
  readonly resourceUrl: string | undefined
}

/** The embedded authorization server of a gateway, with what its tokens are for; undefined where it has none. */
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
