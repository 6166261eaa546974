import {
  aboutEach,
  advice,
  type Cluster,
  end,
  type FieldError,
  namesText,
  nameText,
  type ObjectName,
  type Path,
  pathTo,
  relatedTo,
  type ErrorSubject,
} from '../rule/index.ts'
import { AUTH_CONFIG, WORKLOAD } from './ends.ts'
import { configsReached, type Fronting, frontingsOf, type Reached } from './reach.ts'
import {
  authConfigNamed,
  type Gateway,
  getAuthConfig,
  getWorkload,
  type Workload,
} from './related-resources.ts'

/**
 * An MCPExternalAuthConfig with which vMCP exchanges a token, and the backends (`members`) whose proxies exchange the
 * token again.
 */
export interface SecondExchange extends Reached {
  /** Whether the proxies of `members` use the same MCPExternalAuthConfig for the second exchange. */
  readonly isSame: boolean
}

/**
 * The MCPExternalAuthConfigs with which a VirtualMCPServer exchanges a token, if proxies of its backends exchange the
 * token again.
 */
export function* exchangedAgain(gateway: Gateway, cluster: Cluster): Generator<SecondExchange> {
  for (const reached of configsReached(gateway, cluster)) {
    if (reached.auth?.spec?.type !== 'tokenExchange') continue
    const again = Map.groupBy(reached.members, (member) => {
      if (member.kind === 'MCPServerEntry') return undefined
      const own = getWorkload(cluster, member)?.spec?.externalAuthConfigRef?.name
      if (own === undefined || getAuthConfig(cluster, own)?.spec?.type !== 'tokenExchange') return undefined
      return own === reached.config
    })
    for (const isSame of [true, false]) {
      const members = again.get(isSame)
      if (members !== undefined) yield { ...reached, members, isSame }
    }
  }
}

/** The first VirtualMCPServer that exchanges the token for a workload whose proxy exchanges it again. */
export function exchangedBefore(
  workload: Workload,
  { name }: ObjectName,
  cluster: Cluster,
): (Fronting & { readonly config: string; readonly isSame: boolean }) | undefined {
  const exchanges = (config: string | undefined): config is string =>
    config !== undefined && getAuthConfig(cluster, config)?.spec?.type === 'tokenExchange'
  const own = workload.spec?.externalAuthConfigRef?.name
  if (!exchanges(own)) return undefined
  for (const fronting of frontingsOf(name, workload, cluster)) {
    const { config } = fronting
    if (exchanges(config)) return { ...fronting, config, isSame: config === own }
  }
  return undefined
}

/** The contradiction of two exchanges; `isSame`: both use the same MCPExternalAuthConfig. */
export const exchangedTwice = (isSame: boolean): string =>
  isSame ? 'exchanged twice alike' : 'exchanged twice differently'

/** Identifies, for grouping findings, the cause that a token is exchanged twice, first as the configuration says. */
export const exchangedTwiceCause = (config: string): ErrorSubject => ['exchanged twice', config]

/** Advice about tokens that are exchanged twice, with the places of both exchanges. */
export function repeated(
  { config, members, at, isSame }: SecondExchange,
  { detail, otherwise }: { readonly detail: string; readonly otherwise: Path<unknown> },
): FieldError {
  const named = authConfigNamed(config)
  const thing = exchangedTwice(isSame)
  const text = `${detail}: ${namesText(members, 2)}, after ${nameText(named)}`
  return relatedTo(
    aboutEach(advice(at === undefined ? otherwise : pathTo(at()), text), () =>
      members.map(({ kind, name }: ObjectName) => [thing, kind, name] as const),
    ),
    [
      ...members
        .slice(0, 2)
        .map((member) => end(member, WORKLOAD.spec.externalAuthConfigRef, 'exchanges it again')),
      end(named, AUTH_CONFIG.spec.type, 'exchanges the token'),
    ],
    () => [exchangedTwiceCause(config)],
  )
}
