import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import Provider, { type Configuration } from 'oidc-provider'
import type { KeyedCertificate } from '../../src/certificates/x509.ts'

export interface ProviderSetup {
  /** The certificate; without one the provider serves plain http. */
  readonly tls?: KeyedCertificate
  /** The issuer that the provider claims, given its own URL; by default that URL. */
  readonly issuer?: (url: string) => string
  readonly configuration?: Configuration
  /** Customizes the provider before it starts. */
  readonly extend?: (provider: Provider) => void
}

export interface LoginProvider {
  /** Has no slash at the end. */
  readonly url: string
  readonly port: number
  /** The method and path of each request. */
  readonly requests: readonly string[]
  /** The headers of each request. */
  readonly headers: readonly (readonly string[])[]
  close(): void
}

/** Starts a real OpenID Connect provider on a free port of localhost. */
export async function startProvider({
  tls,
  issuer = (url) => url,
  configuration,
  extend,
}: ProviderSetup): Promise<LoginProvider> {
  const requests: string[] = []
  const headers: string[][] = []
  let handle: RequestListener = () => undefined
  const listener: RequestListener = (request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`)
    headers.push(Object.keys(request.headers))
    handle(request, response)
  }
  const server: Server =
    tls === undefined
      ? createHttpServer(listener)
      : createHttpsServer({ cert: tls.certificate, key: tls.key }, listener)
  await once(server.listen(0, 'localhost'), 'listening')
  const { port } = server.address() as AddressInfo
  const url = `${tls === undefined ? 'http' : 'https'}://localhost:${port}`
  const provider = new Provider(issuer(url), configuration)
  extend?.(provider)
  const callback = provider.callback()
  handle = (request, response) => void callback(request, response)
  return {
    url,
    port,
    requests,
    headers,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
