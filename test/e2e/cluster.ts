import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { API_VERSION, DEFAULT_API_GROUP, KINDS } from '../../src/kinds/index.ts'
import type { Kind } from '../../src/kinds/kind.ts'
import { mcpExternalAuthConfig } from '../../src/kinds/mcp-external-auth-config/index.ts'
import { mcpGroup } from '../../src/kinds/mcp-group/index.ts'
import {
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
} from '../../src/registration/webhook-configurations.ts'
import type { RunningServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { waitFor } from './wait-for.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Runs kubectl, which must succeed, and returns its stdout. */
export async function kubectl(api: ApiServer, args: readonly string[], stdin?: string): Promise<string> {
  const { code, stdout, stderr } = await api.kubectl(args, stdin === undefined ? {} : { stdin })
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout
}

/** The minor version of the API server, such as 36 for 1.36.3. */
export async function minorOf(api: ApiServer): Promise<number> {
  const { body } = await api.request<{ minor: string }>('GET', '/version')
  return Number.parseInt(body.minor)
}

/** Installs the project's CRDs by server-side apply and waits until every kind can be listed. */
export async function installCrds(api: ApiServer, folder: 'crds' | 'crds-strict'): Promise<void> {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  for (const { plural } of KINDS) {
    const text = readFileSync(`${ROOT}deploy/${folder}/${plural}.yaml`, 'utf8')
    const path = `${definitions}/${plural}.${DEFAULT_API_GROUP}?fieldManager=kubectl&force=true`
    const { status, body } = await api.request('PATCH', path, text, 'application/apply-patch+yaml')
    if (status >= 300) throw new Error(`${plural}: ${JSON.stringify(body)}`)
  }
  for (const { plural } of KINDS) {
    const path = `/apis/${DEFAULT_API_GROUP}/${API_VERSION}/${plural}`
    await waitFor(async () => (await api.request('GET', path)).status === 200, {
      seconds: 30,
      what: `${plural} to be served`,
    })
  }
}

/** Installs the report CRD of OpenReports or of the Kubernetes Policy Working Group (wgpolicyk8s.io). */
export async function installReports(api: ApiServer, name: 'openreports' | 'policyreports'): Promise<void> {
  const file = `${ROOT}test/formats/${name}-crd.yaml`
  await kubectl(api, ['apply', '-f', file])
  await kubectl(api, ['wait', '--for=condition=Established', '--timeout=30s', '-f', file])
}

/** The API path of the resources of a kind in the namespace `default`. */
export function pathOf({ plural }: Pick<Kind, 'plural'>): string {
  return `/apis/${DEFAULT_API_GROUP}/${API_VERSION}/namespaces/default/${plural}`
}

/**
 * Registers a webhook by URL. The API server may take a moment until it calls the webhook: see `answers` and `called`.
 */
export async function register(
  api: ApiServer,
  server: Pick<RunningServer, 'url' | 'ca'>,
  failurePolicy: 'Fail' | 'Ignore' = 'Fail',
  conditions: readonly object[] = [],
): Promise<void> {
  const registration = {
    group: DEFAULT_API_GROUP,
    failurePolicy,
    clientConfig: (path: string) => ({
      url: server.url + path,
      caBundle: Buffer.from(server.ca).toString('base64'),
    }),
  }
  const configurations = [
    validatingWebhookConfiguration(registration),
    mutatingWebhookConfiguration(registration),
  ]
  const items = configurations.map(({ webhooks, ...rest }) => ({
    ...rest,
    webhooks: webhooks.map((webhook) => ({
      ...webhook,
      matchConditions: [...('matchConditions' in webhook ? webhook.matchConditions : []), ...conditions],
    })),
  }))
  const list = { apiVersion: 'v1', kind: 'List', items }
  await kubectl(api, ['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(list))
}

/** Waits until the API server calls this server. */
export async function called(api: ApiServer, server: Pick<RunningServer, 'log'>): Promise<void> {
  const name = `called-${Date.now()}`
  const probe = { apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`, kind: mcpGroup.kind, metadata: { name } }
  const isCalled = async () => {
    await api.request('POST', `${pathOf(mcpGroup)}?dryRun=All`, probe)
    const reviews = server
      .log()
      .split('\n')
      .filter((line) => line.includes(name))
    return ['mutate', 'validate'].every((webhook) => reviews.some((line) => line.includes(webhook)))
  }
  await waitFor(isCalled, { seconds: 30, what: 'the API server to call the webhook' })
}

/** Waits until a dry run of a resource without a spec gets this status, and an answer that contains `text`. */
export async function answers(api: ApiServer, status: number, text = ''): Promise<void> {
  const probe = {
    apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
    kind: mcpExternalAuthConfig.kind,
    metadata: { name: 'probe' },
  }
  const path = `${pathOf(mcpExternalAuthConfig)}?dryRun=All`
  const isThere = async () => {
    const answer = await api.request('POST', path, probe)
    return answer.status === status && JSON.stringify(answer.body).includes(text)
  }
  await waitFor(isThere, { seconds: 30, what: `a dry run to be answered with ${status} ${text}` })
}
