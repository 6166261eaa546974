import { serviceNames } from '../certificates/authority.ts'
import type { ServerConfiguration } from './configuration.ts'

/** The DNS names and addresses with which API servers call this server. */
export function servingNames({
  service,
  namespace,
  host,
  'webhook-url': url,
}: ServerConfiguration): string[] {
  return serviceNames(service, namespace, [host, ...hostsOf(url)])
}

/**
 * The names with which an API server reaches this server without a Service: the host of --webhook-url (if set), then
 * --host.
 */
export const localNames = ({ host, 'webhook-url': url }: ServerConfiguration): string[] => [
  ...hostsOf(url),
  host,
]

/** The host of --webhook-url, an IPv6 address without its brackets; empty when the flag is not set. */
const hostsOf = (url: string): string[] => (url === '' ? [] : [new URL(url).hostname.replace(/^\[|\]$/g, '')])

/** The names that tls.crt in --cert-dir should have: only the host of --webhook-url or, without it, `servingNames`. */
export const calledNames = (configuration: ServerConfiguration): string[] =>
  configuration['webhook-url'] === '' ? servingNames(configuration) : localNames(configuration).slice(0, 1)
