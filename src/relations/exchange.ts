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
} from '../rule/index.ts'
import { AUTH_CONFIG, WORKLOAD } from './ends.ts'
import { configsReached, type Reached } from './reach.ts'
import { authConfigNamed, type Gateway, getAuthConfig, getWorkload } from './related-resources.ts'

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

/** Advice about tokens that are exchanged twice, with the places of both exchanges. */
export function repeated(
  { config, members, at, isSame }: SecondExchange,
  { detail, otherwise }: { readonly detail: string; readonly otherwise: Path<unknown> },
): FieldError {
  const named = authConfigNamed(config)
  const thing = isSame ? 'exchanged twice alike' : 'exchanged twice differently'
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
  )
}
