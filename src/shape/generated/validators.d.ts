/** The precompiled validators, one a kind; each leaves its errors in `errors` after it answered false. */
import type { ValidateFunction } from 'ajv'

export const MCPExternalAuthConfig: ValidateFunction
export const VirtualMCPServer: ValidateFunction
export const MCPOIDCConfig: ValidateFunction
export const MCPServer: ValidateFunction
export const MCPGroup: ValidateFunction
export const MCPRemoteProxy: ValidateFunction
export const MCPServerEntry: ValidateFunction
