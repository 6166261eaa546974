import { type Given, isAbsent, parseUrl } from '../../rule/index.ts'

/** `spec.kubernetesServiceAccount`, as far as it says where the keys of tokens are and how they are fetched. */
type Account = Given<{ issuer: string; jwksUrl: string; introspectionUrl: string; useClusterAuth: boolean }>

const DEFAULT_ISSUER = 'https://kubernetes.default.svc'

/** The field that says where keys are fetched, and the host; undefined when a field is unreadable. */
export interface KeysHost {
  readonly field: 'jwksUrl' | 'issuer'
  readonly host: string
}

export function keysHostOf(account: Account): KeysHost | undefined {
  const isOpen = (field: 'jwksUrl' | 'issuer') => isAbsent(account, field) || account[field] === ''
  const field = isOpen('jwksUrl') ? 'issuer' : 'jwksUrl'
  const url = isOpen(field) ? DEFAULT_ISSUER : account[field]
  const host = url === undefined ? undefined : parseUrl(url)?.host
  return host === undefined ? undefined : { field, host }
}

/** Whether keys are fetched with the CA of the cluster and the token of the pod; undefined when it is unreadable. */
export const usesClusterAuth = (account: Account): boolean | undefined =>
  isAbsent(account, 'useClusterAuth') ? true : account.useClusterAuth

/** The Service of the API server, by any of its names inside the cluster. */
const API_SERVER = /^kubernetes(?:\.default(?:\.svc(?:\.[a-z0-9.-]+)?)?)?$/i

export const isApiServer = (host: string): boolean => API_SERVER.test(host)
