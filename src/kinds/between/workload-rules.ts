import type { Rule } from '../../rule/rule.ts'
import { backendAuthServed } from './rules/backend-auth-served.ts'
import { referenceFound } from './rules/reference-found.ts'
import { workloadAuthServerSingleProvider } from './rules/workload-auth-server-single-provider.ts'
import { workloadAuthTypeSuited } from './rules/workload-auth-type-suited.ts'
import { workloadCredentialsConfigured } from './rules/workload-credentials-configured.ts'

/** The rules of every kind that can be a backend. */
export const BACKEND_RULES: readonly Rule[] = [
  referenceFound,
  workloadAuthTypeSuited,
  backendAuthServed,
  workloadCredentialsConfigured,
]

/** The rules of the kinds that run an MCP server or reach one, and may have an authorization server of their own. */
export const WORKLOAD_RULES: readonly Rule[] = [...BACKEND_RULES, workloadAuthServerSingleProvider]
