import {
  type Budget,
  type Cluster,
  errorMessage,
  isObject,
  oncePerCluster,
  type Resource,
  type Segment,
} from '../rule/index.ts'

/**
 * The kind of value of a ConfigMap key; undefined when a deployment tool will replace the value. `mixed`: a PEM
 * certificate comes first, and something else follows.
 */
type Content = 'certificates' | 'mixed' | 'other' | undefined

/**
 * Facts about a ConfigMap: its keys, and whether their values are PEM certificates. Only policies are stored as text.
 */
export interface ConfigMapFacts extends Resource {
  readonly contents: Readonly<Record<string, Content>>
  /** The values that look like policies, by key. */
  readonly policies?: Readonly<Record<string, PolicyText>>
  /** Whether `contents` has every key: false when a deployment tool will replace a key. */
  readonly complete: boolean
}

export interface PolicyText {
  /** The text of the value in the ConfigMap; undefined when a deployment tool will replace it. */
  readonly text: string | undefined
  /** Parses YAML, and throws when it cannot; when undefined, only JSON is read. */
  readonly readYaml: ((text: string) => unknown) | undefined
}

/** The result of parsing a text with policies: the operator accepts JSON and YAML. */
export type PolicyValue =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'empty' | 'unread' }
  | { readonly kind: 'invalid'; readonly why: string }

/**
 * Extracts facts from `data` and `binaryData` of a ConfigMap; `isFilled` recognises a text that a deployment tool will
 * replace. `readYaml` parses YAML, and throws when it cannot; without it only JSON is read.
 */
export function configMapFacts(
  { data, binaryData }: Readonly<Record<string, unknown>>,
  isFilled: (text: string) => boolean = () => false,
  readYaml?: (text: string) => unknown,
): ConfigMapFacts {
  const contents = [
    ...texts(data).map(([key, text]) => [key, isFilled(text) ? undefined : contentOf(text)] as const),
    ...texts(binaryData).map(([key, text]) => [key, contentOf(fromBase64(text))] as const),
  ]
  const policies = texts(data)
    .filter(([key, text]) => key === POLICIES_KEY || /cedar|policies/.test(text))
    .map(([key, text]) => [key, { text: isFilled(text) ? undefined : text, readYaml }] as const)
  return {
    contents: Object.fromEntries(contents),
    ...(policies.length > 0 && { policies: Object.fromEntries(policies) }),
    complete: !contents.some(([key]) => isFilled(key)),
  }
}

/** Characters of JSON that cost one unit of a budget. */
const JSON_PER_UNIT = 32
const YAML_PER_UNIT = 4

/** Parses the policies of a ConfigMap, only once for each `Cluster`. Throws OutOfBudget. */
export function policyValue(given: PolicyText, cluster: Cluster, budget: Budget): PolicyValue {
  const { text, readYaml } = given
  if (text === undefined) return UNREAD
  const isJson = /^\s*[[{]/.test(text)
  budget.spend(text.length / (isJson || readYaml === undefined ? JSON_PER_UNIT : YAML_PER_UNIT))
  return valueOf(given, cluster)
}

const UNREAD: PolicyValue = { kind: 'unread' }

const valueOf = oncePerCluster(({ text = '', readYaml }: PolicyText): PolicyValue => {
  if (text.trim() === '') return { kind: 'empty' }
  try {
    return { kind: 'read', value: JSON.parse(text) as unknown }
  } catch {
    if (readYaml === undefined) return UNREAD
  }
  try {
    return { kind: 'read', value: readYaml(text) }
  } catch (error) {
    return { kind: 'invalid', why: errorMessage(error) }
  }
})

const texts = (map: unknown): [string, string][] =>
  Object.entries(isObject(map) ? map : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )

/** Decodes base64; empty when the text is not base64, which the API server refuses. */
function fromBase64(text: string): string {
  try {
    return atob(text)
  } catch {
    return ''
  }
}

/** The kind of a text by its PEM blocks, which are not decoded. Text before a block is a comment. */
function contentOf(text: string): Content {
  const [first, ...others] = (text.match(/-----BEGIN [A-Z0-9 ]+-----/g) ?? []).map(
    (begin) => begin === '-----BEGIN CERTIFICATE-----',
  )
  if (first !== true || !text.includes('-----END CERTIFICATE-----')) return 'other'
  return others.every(Boolean) && /-----END CERTIFICATE-----\s*$/.test(text) ? 'certificates' : 'mixed'
}

/** The facts about the ConfigMap with this name; undefined when it does not exist or is not known. */
export const getConfigMap = (cluster: Cluster, name: string) =>
  cluster.get('ConfigMap', name) as ConfigMapFacts | undefined

/** Whether at least one ConfigMap of the namespace is known, or it is known that there are none. */
export const seesConfigMaps = (cluster: Cluster): boolean =>
  cluster.knows('ConfigMap') || cluster.names('ConfigMap')[Symbol.iterator]().next().done !== true

/** A reference to a key of a ConfigMap. */
export interface ConfigMapReference {
  readonly name: string
  readonly key: string
  /** Whether the operator reads the value as certificates. */
  readonly isBundle: boolean
  /**
   * Whether the operator accepts certificates only, as it does for an authorization server (toolhive: `ResolveCABundle`);
   * elsewhere the process reads the first PEM block (toolhive: `ValidateCACertificate`).
   */
  readonly isStrict: boolean
  /** The path of the object that contains the name and the key. */
  readonly at: readonly Segment[]
}

const CA_KEY = 'ca.crt'
/** The key of the policies in a ConfigMap when a reference names no key. */
export const POLICIES_KEY = 'authz.json'

/** All references of a spec to ConfigMaps: with CA bundles, and with policies. */
export function configMapReferencesOf({ spec }: { readonly spec?: unknown }): ConfigMapReference[] {
  const found: ConfigMapReference[] = []
  collect(spec, ['spec'], found)
  return found
}

/** Adds to `found` the references inside a value; `at` is its path, a shared stack that is unchanged on return. */
function collect(value: unknown, at: (string | number)[], found: ConfigMapReference[]): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      at.push(i)
      collect(value[i], at, found)
      at.pop()
    }
    return
  }
  const holder = at.at(-1)
  for (const step of Object.keys(value)) {
    const inner = (value as Readonly<Record<string, unknown>>)[step]
    at.push(step)
    if (step === 'configMapRef' && holder === 'caBundleRef') add(inner, at, CA_KEY, found)
    else if (step === 'configMap' && holder === 'authzConfig') add(inner, at, POLICIES_KEY, found)
    else collect(inner, at, found)
    at.pop()
  }
}

function add(value: unknown, at: readonly Segment[], byDefault: string, found: ConfigMapReference[]): void {
  if (!isObject(value) || typeof value.name !== 'string' || value.name === '') return
  const key = value.key ?? byDefault
  if (typeof key !== 'string') return
  found.push({
    name: value.name,
    key: key || byDefault,
    isBundle: byDefault === CA_KEY,
    isStrict: at[1] === 'authServerConfig' || at[1] === 'embeddedAuthServer',
    at: [...at],
  })
}
