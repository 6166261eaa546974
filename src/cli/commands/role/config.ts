import { UsageError } from '../../../configuration/flags.ts'
import { UNKNOWN_TOKENS, type CallerTokens, callerTokensOf } from '../../../access/role/caller-tokens.ts'
import { type DocumentReading, stateOf } from '../../../documents/index.ts'
import { kindNamed } from '../../../kinds/index.ts'
import { mcpExternalAuthConfig } from '../../../kinds/mcp-external-auth-config/index.ts'
import { NEWEST_RELEASE } from '../../../release/index.ts'
import { isObject, type Resource } from '../../../rule/index.ts'
import { quoteTemplates } from '../../input/fill.ts'
import { readSources } from '../../input/files.ts'
import { loadDocuments } from '../../input/load.ts'
import type { Located } from '../../output/report.ts'
import { oneLine } from '../../output/one-line.ts'

/**
 * The release whose gateways use an MCPExternalAuthConfig: the given one without its `v`, or the newest for an empty
 * text, because all releases agree on which backends a gateway uses it for (decision 10).
 */
export const gatewayRelease = (release: string): string => release.replace(/^v/, '') || NEWEST_RELEASE

/** An MCPExternalAuthConfig that was read, with the tokens that its callers can have. */
export interface FoundConfig {
  readonly value: unknown
  readonly namespace: string
  readonly name: string
  /** The tokens that callers can have, judged by the objects that were read together with the MCPExternalAuthConfig. */
  readonly callerTokens: CallerTokens
}

/** Thrown when an MCPExternalAuthConfig cannot be read; `located` has the place and the reason. */
export class UnreadConfiguration extends Error {
  readonly located: Located

  constructor(located: Located) {
    super(located.message)
    this.located = located
  }
}

/** The error for a file that cannot be read at all. */
export const unreadFile = (file: string, message: string): UnreadConfiguration =>
  new UnreadConfiguration({ file, line: 0, column: 0, message })

/** Parses `FILE`, or `FILE#NAME` for one of several objects in a file. */
export function parseLocation(written: string): { file: string; name?: string } {
  const hash = written.lastIndexOf('#')
  return hash < 1 ? { file: written } : { file: written.slice(0, hash), name: written.slice(hash + 1) }
}

/**
 * The MCPExternalAuthConfig of type awsSts with this name in a file, a folder or standard input, as gateways of the
 * operator `release` use it (empty: not known). Throws UsageError and UnreadConfiguration.
 */
export async function configIn(
  file: string,
  name: string | undefined,
  reading: DocumentReading,
  release: string,
): Promise<FoundConfig> {
  const configs: FoundConfig[] = []
  const values: unknown[] = []
  for await (const source of readSources(file)) {
    if ('problem' in source) throw unreadFile(source.name, source.problem)
    for (const document of loadDocuments(quoteTemplates(source.text))) {
      if ('error' in document) throw new UnreadConfiguration({ file: source.name, ...document.error })
      values.push(document.value)
      if (isOurs(document.value, reading)) configs.push(found(document.value))
    }
  }
  const chosen = choose(configs, file, name)
  const cluster = stateOf(values, reading).in(chosen.namespace || reading.namespace, gatewayRelease(release))
  return { ...chosen, callerTokens: callerTokensOf(chosen.name, cluster) }
}

function isOurs(value: unknown, { group }: DocumentReading): value is Resource {
  if (!isObject(value) || typeof value.apiVersion !== 'string' || typeof value.kind !== 'string') return false
  return value.apiVersion.startsWith(`${group}/`) && kindNamed.get(value.kind) === mcpExternalAuthConfig
}

function found(value: Resource): FoundConfig {
  const { namespace, name } = value.metadata ?? {}
  const text = (part: unknown) => (typeof part === 'string' ? part : '')
  return { value, namespace: text(namespace), name: text(name), callerTokens: UNKNOWN_TOKENS }
}

const fullName = ({ namespace, name }: FoundConfig) => (namespace === '' ? name : `${namespace}/${name}`)

function choose(configs: readonly FoundConfig[], file: string, name: string | undefined): FoundConfig {
  const ofType = configs.filter(({ value }) => typeOf(value) === 'awsSts')
  const named = ofType.filter((each) => name === undefined || each.name === name || fullName(each) === name)
  const [first, second] = named
  if (first !== undefined && second === undefined) return first
  if (ofType.length === 0) throw new UsageError(`${file} holds no MCPExternalAuthConfig of the type awsSts`)
  const names = oneLine(ofType.map(fullName).join(', '))
  if (name === undefined || first !== undefined)
    throw new UsageError(`${file} holds several: write ${file}#NAME with one of ${names}`)
  throw new UsageError(`${file} holds no awsSts configuration '${name}'; it holds ${names}`)
}

export function typeOf(value: unknown): unknown {
  return isObject(value) && isObject(value.spec) ? value.spec.type : undefined
}
