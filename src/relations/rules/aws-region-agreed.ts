import {
  about,
  advice,
  type Cluster,
  defineRule,
  end,
  nameText,
  type ObjectName,
  parseUrl,
  pathTo,
  relatedTo,
  says,
  shortQuote,
} from '../../rule/index.ts'
import { role, signing } from '../../kinds/mcp-external-auth-config/examples.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServerEntry } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  type AuthConfig,
  authConfigNamed,
  type AwsSts,
  awsStsOf,
  getAuthConfig,
  mappedConfig,
  type Workload,
} from '../index.ts'

/** A workload with a remote server: an MCPRemoteProxy or an MCPServerEntry. */
interface Remote {
  readonly spec?: { readonly remoteUrl?: string }
}
const REMOTES = ['MCPRemoteProxy', 'MCPServerEntry']
const REMOTE = pathTo<Remote>([])
const REMOTE_SPEC = { groupRef: { name: 'tools' }, externalAuthConfigRef: { name: 'aws' } }

/** The partition of a region; undefined for the isolated ones, whose roles no `roleArn` can name. */
function partitionOf(region: string): string | undefined {
  if (region.startsWith('cn-')) return 'aws-cn'
  if (region.startsWith('us-gov-')) return 'aws-us-gov'
  return /^[a-z]{2}-iso/.test(region) ? undefined : 'aws'
}

const ARN = /^arn:(aws|aws-cn|aws-us-gov):/

/** The first role of another partition than that of the region. */
function foreignRole({ region, fallbackRoleArn, roleMappings = [] }: AwsSts) {
  const wanted = region === undefined ? undefined : partitionOf(region)
  const isForeign = (arn: string | undefined) => {
    const partition = ARN.exec(arn ?? '')?.[1]
    return wanted !== undefined && partition !== undefined && partition !== wanted
  }
  const at = AUTH_CONFIG.spec.awsSts
  if (isForeign(fallbackRoleArn)) return { arn: fallbackRoleArn, at: at.fallbackRoleArn, wanted }
  const index = roleMappings.findIndex((mapping) => isForeign(mapping?.roleArn))
  return index < 0
    ? undefined
    : { arn: roleMappings[index]?.roleArn, at: at.roleMappings.at(index).roleArn, wanted }
}

/** Hosts of AWS that end in a region. All other hosts may be in any region. */
const IN_REGION = /\.([a-z]{2}(?:-[a-z]+)+-\d)\.(?:api\.aws|amazonaws\.com(?:\.cn)?)$/

/** The region in the host of the remote server, if the `awsSts` signs for another one. */
function foreignRegion({ spec }: Remote, { region }: AwsSts): string | undefined {
  const found = IN_REGION.exec(parseUrl(spec?.remoteUrl ?? '')?.host ?? '')?.[1]
  return region === undefined || found === region ? undefined : found
}

/** The first workload that names the MCPExternalAuthConfig, with a remote server in another region. */
function foreignRemote(config: string, awsSts: AwsSts, cluster: Cluster) {
  for (const remote of cluster.referrers('MCPExternalAuthConfig', config, REMOTES)) {
    const region = foreignRegion((cluster.get(remote.kind, remote.name) ?? {}) as Remote, awsSts)
    if (region !== undefined) return { remote, region }
  }
  return undefined
}

const causesOf = (config: string, { kind, name }: ObjectName) => [
  ['region of AWS', config, kind, name] as const,
]

export const awsRegionAgreed = defineRule({
  id: 'aws-region-agreed',
  on: [MCPExternalAuthConfig, MCPRemoteProxy, MCPServerEntry],
  needs: ['awsSts', 'externalAuthConfigRef'],
  reads: ['MCPExternalAuthConfig', ...REMOTES],
  severity: 'warning',
  summary: 'The `region` of an `awsSts` is of the partition of its roles, and that of the remote server.',
  why: '`region` is where STS is asked for the role, and for which requests are signed. STS knows no role of another partition, and a service refuses a signature for another region.',
  failure: {
    symptom:
      'every call fails: `STS token exchange failed`, or the service says that the credential should be scoped to a valid region',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [says('2.4.1', 'region is that of the STS endpoint and of the service.'), 'decision 3'],
  *check(resource, { cluster, self }) {
    if (self.kind !== 'MCPExternalAuthConfig') {
      const config = (resource as Workload).spec?.externalAuthConfigRef?.name
      const awsSts = config === undefined ? undefined : awsStsOf(getAuthConfig(cluster, config))
      const region = awsSts && foreignRegion(resource as Remote, awsSts)
      if (config === undefined || region === undefined) return
      const named = authConfigNamed(config)
      const detail = `is in region ${shortQuote(region)}, and ${nameText(named)} signs for ${shortQuote(awsSts?.region ?? '')}: every call is refused; write the region there`
      yield relatedTo(
        about(advice(REMOTE.spec.remoteUrl, detail), 'aws-region-agreed', config),
        [end(named, AUTH_CONFIG.spec.awsSts.region, 'is the region of signatures')],
        () => causesOf(config, self),
      )
      return
    }
    const awsSts = awsStsOf(resource as AuthConfig)
    if (awsSts === undefined) return
    const { region = '' } = awsSts
    const foreign = foreignRole(awsSts)
    if (foreign !== undefined) {
      const partition = ARN.exec(foreign.arn ?? '')?.[1] ?? ''
      yield advice(
        foreign.at,
        `is of partition ${partition}, and region ${shortQuote(region)} of ${foreign.wanted}: STS refuses the role, calls fail; write a region of ${partition}, or a role of ${foreign.wanted}`,
      )
      return
    }
    const found = foreignRemote(self.name, awsSts, cluster)
    if (found === undefined) return
    const detail = `remoteUrl of ${nameText(found.remote)} is in ${shortQuote(found.region)}, which refuses signatures for ${shortQuote(region)}: every call fails; write that region`
    yield relatedTo(
      advice(AUTH_CONFIG.spec.awsSts.region, detail),
      [end(found.remote, REMOTE.spec.remoteUrl, 'has the region')],
      () => causesOf(self.name, found.remote),
    )
  },
  examples: {
    'a role and a region of China': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ region: 'cn-north-1', fallbackRoleArn: role('reader').replace('aws', 'aws-cn') }),
    },
    'the same region': {
      kind: 'MCPRemoteProxy',
      value: remote('https://aws-mcp.eu-central-1.api.aws/mcp'),
      others: [mappedConfig('aws', { fallbackRoleArn: role('reader') })],
    },
    'a host that names no region': {
      kind: 'MCPServerEntry',
      value: { spec: { ...REMOTE_SPEC, remoteUrl: 'https://mcp.example.com/us-east-1.api.aws' } },
      others: [mappedConfig('aws', { fallbackRoleArn: role('reader') })],
    },
    'a role of China': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ fallbackRoleArn: role('reader').replace('aws', 'aws-cn') }),
      findings:
        'spec.awsSts.fallbackRoleArn: is of partition aws-cn, and region "eu-central-1" of aws: STS refuses the role, calls fail; write a region of aws-cn, or a role of aws',
    },
    'a role of the government': {
      kind: 'MCPExternalAuthConfig',
      value: signing({
        roleMappings: [{ claim: 'staff', roleArn: role('staff').replace('aws', 'aws-us-gov') }],
      }),
      findings:
        'spec.awsSts.roleMappings[0].roleArn: is of partition aws-us-gov, and region "eu-central-1" of aws: STS refuses the role, calls fail; write a region of aws-us-gov, or a role of aws',
    },
    'a server in another region': {
      kind: 'MCPRemoteProxy',
      value: remote('https://aws-mcp.us-east-1.api.aws/mcp'),
      others: [mappedConfig('aws', { fallbackRoleArn: role('reader') })],
      findings:
        'spec.remoteUrl: is in region "us-east-1", and MCPExternalAuthConfig "aws" signs for "eu-central-1": every call is refused; write the region there',
    },
    'the configuration comes later': {
      kind: 'MCPExternalAuthConfig',
      value: signing({ fallbackRoleArn: role('reader') }),
      others: [
        {
          kind: 'MCPServerEntry',
          metadata: { name: 'tools' },
          spec: {
            remoteUrl: 'https://id.execute-api.eu-west-1.amazonaws.com/mcp',
            externalAuthConfigRef: { name: 'example' },
          },
        },
      ],
      findings:
        'spec.awsSts.region: remoteUrl of MCPServerEntry "tools" is in "eu-west-1", which refuses signatures for "eu-central-1": every call fails; write that region',
    },
  },
})

/** A proxy with this remote server that signs requests by the MCPExternalAuthConfig `aws`. */
function remote(remoteUrl: string) {
  return { spec: { ...REMOTE_SPEC, remoteUrl, oidcConfigRef: { name: 'corporate', audience: 'aws' } } }
}
