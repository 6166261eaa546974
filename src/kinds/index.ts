import type { Kind } from './kind.ts'
import { mcpExternalAuthConfig } from './mcp-external-auth-config/index.ts'
import { mcpGroup } from './mcp-group/index.ts'
import { mcpOidcConfig } from './mcp-oidc-config/index.ts'
import { mcpRemoteProxy } from './mcp-remote-proxy/index.ts'
import { mcpServerEntry } from './mcp-server-entry/index.ts'
import { mcpServer } from './mcp-server/index.ts'
import { virtualMcpServer } from './virtual-mcp-server/index.ts'

export const DEFAULT_API_GROUP = 'toolhive.stacklok.dev'
export const API_VERSION = 'v1beta1'

export const KINDS: readonly Kind[] = [
  mcpExternalAuthConfig,
  virtualMcpServer,
  mcpOidcConfig,
  mcpServer,
  mcpGroup,
  mcpRemoteProxy,
  mcpServerEntry,
]

export const kindNamed: ReadonlyMap<string, Kind> = new Map(KINDS.map((kind) => [kind.kind, kind]))
