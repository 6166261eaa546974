import { isAbsent } from '../rule/index.ts'
import type { AuthConfig, Gateway } from './related-resources.ts'

/** Whether callers of a VirtualMCPServer certainly have no token: it is anonymous, and issues none. */
export const isWithoutTokens = ({ spec }: Gateway): boolean =>
  spec?.incomingAuth?.type === 'anonymous' && isAbsent(spec, 'authServerConfig')

/** Whether the MCPExternalAuthConfig exchanges the token of the caller, and no token of an upstream provider. */
export function exchangesCallerToken(config: AuthConfig | undefined): boolean {
  const { type, tokenExchange, awsSts } = config?.spec ?? {}
  const settings = type === 'tokenExchange' ? tokenExchange : type === 'awsSts' ? awsSts : undefined
  return (
    settings !== undefined &&
    (isAbsent(settings, 'subjectProviderName') || settings.subjectProviderName === '')
  )
}
