import {
  about,
  advice,
  defineRule,
  end,
  nameText,
  pathTo,
  relatedTo,
  shortQuote,
} from '../../../rule/index.ts'
import {
  type AuthConfig,
  authConfigNamed,
  configsReached,
  configWith,
  gatewayOf,
  headerConfig,
  inline,
  NAME,
  REACHED_KINDS,
  sourceOf,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

const ID = 'backend-secret-variable-unique'

/** The API keys of two MCPExternalAuthConfigs in one Secret, for examples. */
const keyOf = (name: string) =>
  configWith(name, 'headerInjection', {
    headerName: 'X-Api-Key',
    valueSecretRef: { name: 'keys', key: 'jira' },
  })

export const backendSecretVariableUnique = defineRule({
  id: ID,
  on: VirtualMCPServer,
  needs: ['outgoingAuth'],
  reads: REACHED_KINDS,
  severity: 'warning',
  summary:
    'No two configurations that a VirtualMCPServer names have names that differ by `-` and `.` alone, unless they share a Secret.',
  why: 'Releases give vMCP each Secret in an environment variable that is named after the configuration, with `_` in place of both characters: the Secret of one configuration replaces that of the other, and is sent to the backends of both.',
  sources: ['decision 10'],
  *check(gateway, { path, cluster }) {
    const isInline = sourceOf(gateway) === 'inline'
    const first = new Map<string, Used>()
    const told = new Set<string>()
    for (const { config, auth, at } of configsReached(gateway, cluster)) {
      // vMCP itself reads the Secrets of discovered configurations, without environment variables.
      if (at === undefined && !isInline) continue
      for (const { variable, secret } of secretsOf(config, auth)) {
        const other = first.get(variable)
        if (other === undefined) first.set(variable, { config, secret })
        if (other === undefined || other.config === config || other.secret === secret || told.has(config))
          continue
        told.add(config)
        const named = authConfigNamed(config)
        const detail = `rename ${nameText(named)}: it has the environment variable of ${shortQuote(other.config)} in vMCP, where - and . are alike, so the Secret of one is sent for both`
        const place = at === undefined ? path.spec.outgoingAuth : pathTo(at())
        yield relatedTo(about(advice(place, detail), ID, config, other.config), [
          end(named, NAME, 'has this name'),
          end(authConfigNamed(other.config), NAME, 'has this name'),
        ])
      }
    }
  },
  examples: {
    'other names': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'jira-api', wiki: 'jira-web' }) }),
      others: [headerConfig('jira-api'), headerConfig('jira-web')],
    },
    'one Secret for both': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'jira-api', wiki: 'jira.api' }) }),
      others: [keyOf('jira-api'), keyOf('jira.api')],
    },
    'names that differ by a dot': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'jira-api', wiki: 'jira.api' }) }),
      others: [headerConfig('jira-api'), headerConfig('jira.api')],
      findings:
        'spec.outgoingAuth.backends[wiki].externalAuthConfigRef.name: rename MCPExternalAuthConfig "jira.api": it has the environment variable of "jira-api" in vMCP, where - and . are alike, so the Secret of one is sent for both',
    },
  },
})

interface Used {
  readonly config: string
  readonly secret: string
}

/** The environment variables that releases make for an MCPExternalAuthConfig, and the Secret in each. */
function secretsOf(config: string, auth: AuthConfig | undefined) {
  const { type, headerInjection, tokenExchange, xaa } = auth?.spec ?? {}
  const references = {
    headerInjection: [headerInjection?.valueSecretRef],
    tokenExchange: [tokenExchange?.clientSecretRef],
    xaa: [xaa?.idpClientSecretRef, xaa?.targetClientSecretRef],
  }
  const used = new Map(Object.entries(references)).get(type ?? '') ?? []
  return used.flatMap((reference, i) =>
    reference?.name === undefined || reference.key === undefined
      ? []
      : [
          {
            variable: `${type ?? ''} ${i} ${config.replaceAll(/[^A-Za-z0-9]/g, '_').toUpperCase()}`,
            secret: `${reference.name}/${reference.key}`,
          },
        ],
  )
}
