import { heldPlaces } from '../../src/generate/policies.ts'
import { kindNamed } from '../../src/kinds/index.ts'
import type { Kind } from '../../src/kinds/kind.ts'
import { findingsIn } from '../../src/engine/findings.ts'
import { atOnce } from '../../src/rule/steps.ts'
import type { Resource } from './resources.ts'
import type { Status } from './rule-examples.ts'

/** The rules that exist as admission policies too. */
export const HELD: ReadonlySet<string> = new Set(heldPlaces().map(({ rule }) => rule.id))

export function kindOf({ kind }: Pick<Resource, 'kind'>): Kind {
  const found = kindNamed.get(kind)
  if (found === undefined) throw new Error(`${kind} is not one of the seven kinds`)
  return found
}

/** The ids of the webhook's errors, sorted. */
export function errorIds(resource: { readonly kind?: unknown }): string[] {
  const findings = atOnce(findingsIn(kindOf({ kind: String(resource.kind) }), resource))
  return [...new Set(findings.filter(({ severity }) => severity === 'error').map(({ id }) => id))].toSorted()
}

/** The rule id at the end of a message. */
export const idIn = (text: string) => /\(([a-z0-9-]+)\)$/.exec(text)?.[1] ?? `no id in '${text}'`

/** The id of the rule for which a policy denies the object; undefined when it is admitted. */
export function deniedBy({
  status,
  body,
}: {
  readonly status: number
  readonly body: Status
}): string | undefined {
  const { message = '' } = body
  return status === 422 && message.includes(' denied request: ') ? idIn(message) : undefined
}

export const HOSTS = [
  'localhost LOCALHOST locaLhost. localhost.example.com localho\u017ft 127.0.0.1 127.1 127.0.0.256 127.00.0.1 127.255.255.255',
  '[::1] [::1%25lo] [0:0:0:0:0:0:0:1] ::1 2130706433 user@localhost user@example.com 127.0.0.1@example.com localhost:8080',
  'localhost:x localhost: :8080 %6cocalhost 127.0.0.1\\@example.com [::1]x [::1]: example.com \uff4cocalhost a%zz a^b',
]
  .join(' ')
  .split(' ')

interface WithServer extends Resource {
  readonly spec: { readonly type: string; readonly embeddedAuthServer: Record<string, unknown> }
}

/** An embedded authorization server with `count` providers; `lastName` replaces the name of the last one. */
export function withProviders(count: number, lastName = `provider-${count - 1}`): WithServer {
  const upstreamProviders = Array.from({ length: count }, (_, i) => ({
    name: i === count - 1 ? lastName : `provider-${i}`,
    type: 'oidc',
    oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'vmcp' },
  }))
  const embeddedAuthServer = { issuer: 'https://auth.example.com', upstreamProviders }
  return { ...ENVELOPE, spec: { type: 'embeddedAuthServer', embeddedAuthServer } }
}

const ENVELOPE = {
  apiVersion: 'toolhive.stacklok.dev/v1beta1',
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'example', namespace: 'default' },
} as const

export const EVERYTHING_WRONG: Resource = {
  ...ENVELOPE,
  spec: {
    type: 'bearerToken',
    awsSts: { region: 'eu-central-1' },
    embeddedAuthServer: {
      issuer: 'http://auth.example.com',
      storage: { type: 'redis' },
      upstreamProviders: [
        { name: 'a', type: 'oidc', oauth2Config: { additionalAuthorizationParams: { state: 'x' } } },
        { name: 'a', type: 'oauth2' },
      ],
    },
  },
}
