import { compareReleases, defineRule, invalid } from '../../../rule/index.ts'
import { server } from '../examples.ts'
import { isHeaderName, RESTRICTED_HEADERS } from '../../headers.ts'
import { passedHeaders } from '../passed-headers.ts'
import { VirtualMCPServer } from '../schema.ts'

/** Headers that carry credentials of the client; releases before `CREDENTIALS_REFUSED_FROM` forward them. */
const CREDENTIALS = new Set(['authorization', 'cookie'])
const CREDENTIALS_REFUSED_FROM = '0.43'
const NOT_SENT = 'may not be passed on: the server does not start with it; remove it'
const NOT_SENT_LATER = `may not be passed on: from release ${CREDENTIALS_REFUSED_FROM} on the server does not start with it; remove it`

export const passthroughHeaderAllowed = defineRule({
  id: 'passthrough-header-allowed',
  on: VirtualMCPServer,
  needs: ['passthroughHeaders', 'config'],
  severity: 'warning',
  summary:
    '`passthroughHeaders` names headers that may go to every backend: none with credentials of the client, of the connection or of a proxy.',
  why: 'The vMCP process validates the list at start and ends. Releases before 0.43 take Authorization and Cookie, so that an upgrade crashes the gateway.',
  failure: {
    symptom:
      'CrashLoopBackOff after an upgrade; the log says that a header of "passthroughHeaders" is a restricted header and cannot be forwarded',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: 'Authorization and Cookie from 0.43 on',
    threads: ['stacklok/toolhive#6394', 'stacklok/toolhive#6235'],
  },
  sources: ['decision 3', 'decision 21'],
  *check({ spec }, { cluster: { release } }) {
    const [headers, place] = passedHeaders(spec)
    const takesCredentials = release !== undefined && compareReleases(release, CREDENTIALS_REFUSED_FROM) < 0
    for (const [i, name] of headers.entries()) {
      if (name === undefined) continue
      if (CREDENTIALS.has(name.toLowerCase()))
        yield invalid(place.at(i), name, takesCredentials ? NOT_SENT_LATER : NOT_SENT)
      else if (RESTRICTED_HEADERS.has(name.toLowerCase())) yield invalid(place.at(i), name, NOT_SENT)
      else if (!isHeaderName(name))
        yield invalid(
          place.at(i),
          name,
          "must be the name of a header, such as 'X-Request-Id', or the server does not start",
        )
    }
  },
  examples: {
    'a header of its own': { value: server({ passthroughHeaders: ['X-Api-Key', 'X-Request-Id'] }) },
    'an older place that is not read': {
      value: server({
        passthroughHeaders: ['X-Api-Key'],
        config: { passthroughHeaders: ['Authorization'] },
      }),
    },
    'credentials of the client': {
      value: server({ passthroughHeaders: ['authorization', 'Cookie'] }),
      findings: [
        `spec.passthroughHeaders[0]: Invalid value: "authorization": ${NOT_SENT}`,
        `spec.passthroughHeaders[1]: Invalid value: "Cookie": ${NOT_SENT}`,
      ],
    },
    'a header of proxies, and no name, in the older place': {
      value: server({ config: { passthroughHeaders: ['X-Forwarded-For', 'X Trace'] } }),
      findings: [
        `spec.config.passthroughHeaders[0]: Invalid value: "X-Forwarded-For": ${NOT_SENT}`,
        'spec.config.passthroughHeaders[1]: Invalid value: "X Trace": must be the name of a header, such as \'X-Request-Id\', or the server does not start',
      ],
    },
  },
})
