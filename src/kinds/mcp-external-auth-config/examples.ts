import type { Static } from 'typebox'
import type { Given } from '../../rule/index.ts'
import type { MCPExternalAuthConfig } from './schema.ts'

/** The ARN of a role, for examples. */
export const role = (name: string) => `arn:aws:iam::123456789012:role/${name}`

type Config = Given<Static<typeof MCPExternalAuthConfig>>
type Settings<Type extends keyof NonNullable<Config['spec']>> = NonNullable<NonNullable<Config['spec']>[Type]>

/** An MCPExternalAuthConfig of type awsSts with a region and these settings. */
export const signing = (awsSts: Settings<'awsSts'>): Config => ({
  spec: { type: 'awsSts', awsSts: { region: 'eu-central-1', ...awsSts } },
})

type Condition = Omit<NonNullable<NonNullable<Settings<'awsSts'>['roleMappings']>[number]>, 'roleArn'>

/** An MCPExternalAuthConfig of type awsSts with a mapping to each of these roles, after the other settings. */
export const mappingTo = (roles: Readonly<Record<string, Condition>>, others: Settings<'awsSts'> = {}) =>
  signing({
    ...others,
    roleMappings: Object.entries(roles).map(([name, condition]) => ({ roleArn: role(name), ...condition })),
  })

/** An MCPExternalAuthConfig of type tokenExchange with a URL, an audience and these settings. */
export const exchanging = (tokenExchange: Settings<'tokenExchange'>): Config => ({
  spec: {
    type: 'tokenExchange',
    tokenExchange: { tokenUrl: 'https://idp.example.com/token', audience: 'jira', ...tokenExchange },
  },
})

/** An MCPExternalAuthConfig of type headerInjection for this header. */
export const injecting = (headerName: string): Config => ({
  spec: {
    type: 'headerInjection',
    headerInjection: { headerName, valueSecretRef: { name: 'jira', key: 'api-key' } },
  },
})
