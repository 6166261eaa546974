import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { API_VERSION, DEFAULT_API_GROUP, KINDS } from '../../src/kinds/index.ts'
import {
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
  WEBHOOK_NAME,
} from '../../src/kinds/registration.ts'
import type { RunningServer } from '../support/server.ts'
import { type ApiServer, waitFor } from './api-server.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** kubectl that must succeed; answers with its stdout. */
export async function kubectl(api: ApiServer, args: readonly string[], stdin?: string): Promise<string> {
  const { code, stdout, stderr } = await api.kubectl(args, stdin === undefined ? {} : { stdin })
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout
}

/** Installs one set of our CRDs and waits until every kind can be listed. */
export async function installCrds(api: ApiServer, folder: 'crds' | 'crds-strict'): Promise<void> {
  const files = readdirSync(`${ROOT}deploy/${folder}`).map((name) => `${ROOT}deploy/${folder}/${name}`)
  await kubectl(api, ['apply', '--server-side', '--force-conflicts', ...files.flatMap((file) => ['-f', file])])
  for (const { plural } of KINDS) {
    const path = `/apis/${DEFAULT_API_GROUP}/${API_VERSION}/${plural}`
    await waitFor(async () => (await api.request('GET', path)).status === 200, { seconds: 30, what: `${plural} to be served` })
  }
}

/** Registers the running server by URL and waits until the API server calls it. */
export async function register(
  api: ApiServer,
  server: Pick<RunningServer, 'url' | 'ca'>,
  failurePolicy: 'Fail' | 'Ignore' = 'Fail',
): Promise<void> {
  const registration = {
    group: DEFAULT_API_GROUP,
    failurePolicy,
    clientConfig: (path: string) => ({ url: server.url + path, caBundle: Buffer.from(server.ca).toString('base64') }),
  }
  const configurations = [validatingWebhookConfiguration(registration), mutatingWebhookConfiguration(registration)]
  const list = { apiVersion: 'v1', kind: 'List', items: configurations }
  await kubectl(api, ['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(list))
}

export async function unregister(api: ApiServer): Promise<void> {
  for (const resource of ['validatingwebhookconfiguration', 'mutatingwebhookconfiguration']) {
    await kubectl(api, ['delete', resource, WEBHOOK_NAME, '--ignore-not-found'])
  }
}
