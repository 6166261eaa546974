import { advice, defineRule, must } from '../../rule/index.ts'
import { holdsCredential } from '../../kinds/headers.ts'
import { MCPRemoteProxy, MCPServerEntry } from '../../kinds/schemas.ts'

const forwarding = (headerForward: object) => ({
  spec: { remoteUrl: 'https://jira.example.com/mcp', headerForward },
})

const REMEDY =
  'a credential in plain text: everyone who may read this resource sees it; move it to `addHeadersFromSecret`'

export const forwardedCredentialInSecret = defineRule({
  id: 'forwarded-credential-in-secret',
  on: [MCPRemoteProxy, MCPServerEntry],
  needs: ['headerForward'],
  severity: 'warning',
  summary: '`addPlaintextHeaders` has no credentials: `addHeadersFromSecret` takes them from a Secret.',
  why: 'The value stands in the resource, in its history in Git and in the backups of the cluster. Its names and values are guessed from their form, such as `Authorization`, `X-Api-Key` or `Bearer …`.',
  failure: {
    symptom: '`kubectl get -o yaml` shows a password, an API key or a token in `headerForward`',
    reportedBy: 'nobody',
    consequence: 'lets anyone in',
  },
  sources: [
    must('5.3', 'Values are never inlined; they are referenced through Secret references.'),
    'decision 21',
  ],
  *check({ spec }, { path }) {
    const headers = spec?.headerForward?.addPlaintextHeaders
    if (headers === undefined) return
    for (const [name, value] of Object.entries(headers))
      if (holdsCredential(name, value))
        yield advice(path.spec.headerForward.addPlaintextHeaders.at(name), `holds ${REMEDY}`)
  },
  examples: {
    'a key in a Secret, and headers that are none': {
      value: forwarding({
        addPlaintextHeaders: {
          'X-Tenant-Id': 'tools',
          'X-Atlassian-Token': 'no-check',
          'Idempotency-Key': '1',
          'Accept-Language': 'sk-SK,sk;q=0.9',
        },
        addHeadersFromSecret: [{ headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'api-key' } }],
      }),
    },
    'an API key, and a token in a header with another name': {
      value: forwarding({
        addPlaintextHeaders: {
          'x-api-key': '0123456789',
          'X-Upstream': 'Bearer 0123456789',
          'X-Model': 'sk-example-0123456789',
        },
      }),
      findings: [
        `spec.headerForward.addPlaintextHeaders[x-api-key]: holds ${REMEDY}`,
        `spec.headerForward.addPlaintextHeaders[X-Upstream]: holds ${REMEDY}`,
        `spec.headerForward.addPlaintextHeaders[X-Model]: holds ${REMEDY}`,
      ],
    },
  },
})
