import { isAbsent, type Resource } from '../../rule/resource.ts'
import { BACKEND_KINDS, groupOf, type Workload } from './neighbours.ts'
import { type Reference, referencesOf } from './references.ts'

/** How a workload says that it is contacted: `config/` and a name, or why there is none. */
export const CONFIG = 'config/'
export const NO_CONFIG = 'none'
const UNKNOWN_CONFIG = 'unknown'

/** What a workload says of itself. Section 5.2. */
export function ownConfigOf({ spec }: Workload): string {
  if (spec === undefined) return UNKNOWN_CONFIG
  if (isAbsent(spec, 'externalAuthConfigRef')) return NO_CONFIG
  const config = spec.externalAuthConfigRef?.name
  return config === undefined ? UNKNOWN_CONFIG : CONFIG + config
}

/** How a workload uses a configuration, as far as it matters to what the type does. */
export interface Use {
  readonly kind: string
  /** The fields in which it names it. */
  readonly fields: readonly string[]
  /** Whether it says that it is in a group, which may be unreadable: then the name is null. */
  readonly inGroup: boolean
  readonly group: string | null
  readonly validatesTokens: boolean
}

/** `authServerRef` and `oidcConfigRef` are fields of releases, which the specification does not name (decision 3). */
export function useOf(kind: string, workload: Workload, config: string): Use {
  const given: Readonly<Record<string, unknown>> = workload.spec ?? {}
  return {
    kind,
    fields: referencesOf(kind, workload)
      .filter(({ to }) => to.kind === 'MCPExternalAuthConfig' && to.name === config)
      .map(({ field }) => field),
    inGroup: Object.hasOwn(given, 'groupRef'),
    group: groupOf(workload) ?? null,
    validatesTokens: Object.hasOwn(given, 'oidcConfigRef'),
  }
}

/** The same text for the same use, and for no other. */
export const useText = ({ kind, fields, inGroup, validatesTokens, group }: Use): string =>
  JSON.stringify([kind, fields, inGroup, validatesTokens, group])

/** How many uses are kept in mind, of which the texts have been read, and how long a text is that is worth it. */
const MOST_USES = 1_000
const LONGEST_USE = 1_000
const usesRead = new Map<string, Use>()

/** The use of which `useText` made the text. */
export function useFromText(text: string): Use {
  const known = usesRead.get(text)
  if (known !== undefined) return known
  const [kind, fields, inGroup, validatesTokens, group] = JSON.parse(text) as [
    string,
    string[],
    boolean,
    boolean,
    string | null,
  ]
  const use = { kind, fields, inGroup, validatesTokens, group }
  if (text.length > LONGEST_USE) return use
  if (usesRead.size === MOST_USES) usesRead.clear()
  usesRead.set(text, use)
  return use
}

/** What workloads say beside a reference, by which rules tell those who make it apart. */
export type Aspect =
  /** Of members of a group: how they say that they are contacted. */
  | 'config'
  /** Of those who are contacted with a configuration: their group. */
  | 'group'
  /** Of those who name a configuration: how they use it. */
  | 'use'

export function aspectsOf(
  kind: string,
  resource: Resource,
  reference: Reference,
): (readonly [Aspect, value: string])[] {
  if (!BACKEND_KINDS.includes(kind)) return []
  const workload = resource as Workload
  if (reference.to.kind === 'MCPGroup') return [['config', ownConfigOf(workload)]]
  if (reference.to.kind !== 'MCPExternalAuthConfig') return []
  const use = ['use', useText(useOf(kind, workload, reference.to.name))] as const
  const group = reference.field === 'externalAuthConfigRef' ? groupOf(workload) : undefined
  return group === undefined ? [use] : [use, ['group', group]]
}
