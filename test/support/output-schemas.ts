import { Ajv, type AnySchemaObject } from 'ajv'
import { OUTPUT_SCHEMAS } from '../../src/cli/output/schemas.ts'

type OutputName = keyof typeof OUTPUT_SCHEMAS

/** The schema with `additionalProperties: false` in every object. */
export const closed = (schema: object): AnySchemaObject =>
  JSON.parse(
    JSON.stringify(schema, (_, value: unknown) =>
      typeof value === 'object' && value !== null && 'properties' in value
        ? { ...value, additionalProperties: false }
        : value,
    ),
  ) as AnySchemaObject

const ajv = new Ajv({ strict: true, allowUnionTypes: true, strictRequired: false })
const validators = new Map(
  Object.entries(OUTPUT_SCHEMAS).map(([name, { schema }]) => [name, ajv.compile(closed(schema))]),
)

/** The name of the schema for the output of a command; undefined for another format than JSON, and for empty output. */
function schemaNameOf([command = '', ...args]: readonly string[], stdout: string): OutputName | undefined {
  const isJson = args.includes('--output=json') || args[args.indexOf('--output') + 1] === 'json'
  if (!isJson || stdout === '') return undefined
  if (['check', 'audit', 'probe'].includes(command)) return 'report'
  if (command === 'access') return 'outcomes' in (JSON.parse(stdout) as object) ? 'role' : 'access'
  return Object.keys(OUTPUT_SCHEMAS).find((name): name is OutputName => name === command)
}

/**
 * Why the output of a command does not match its schema, which here allows no further fields; undefined when it
 * matches.
 */
export function problemWithOutput(args: readonly string[], stdout: string): string | undefined {
  const name = schemaNameOf(args, stdout)
  const validate = validators.get(name ?? '')
  if (validate === undefined || validate(JSON.parse(stdout))) return undefined
  return `${args.join(' ')} prints what schemas/output/${name} does not say: ${ajv.errorsText(validate.errors)}`
}

interface Node {
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly anyOf?: readonly Node[]
  readonly required?: readonly string[]
}

/** Keywords that do not affect whether an output is valid. */
const TEXTS = new Set(['$schema', 'title', 'description'])
const COMPARED = new Set(['properties', 'items', 'anyOf', 'required'])

/** The incompatible changes of an output schema: what a script written for the recorded schema would no longer find. */
export const breaksIn = (recorded: object, now: object): string[] => breaksBelow(recorded, now, '')

function breaksBelow(recorded: Node, now: Node, at: string): string[] {
  const rest = (node: Node) =>
    JSON.stringify(
      Object.entries(node)
        .filter(([key]) => !TEXTS.has(key) && !COMPARED.has(key))
        .toSorted(),
    )
  const inner = (key: 'items' | 'properties') => (recorded[key] === undefined) !== (now[key] === undefined)
  const alternatives = recorded.anyOf ?? []
  if (rest(recorded) !== rest(now) || inner('items') || alternatives.length !== (now.anyOf ?? []).length)
    return [`${at || 'the whole'} is of another type`]
  return [
    ...Object.entries(recorded.properties ?? {}).flatMap(([name, node]) => {
      const next = now.properties?.[name]
      return next === undefined ? [`${at}.${name} is gone`] : breaksBelow(node, next, `${at}.${name}`)
    }),
    ...(recorded.required ?? [])
      .filter((name) => now.properties?.[name] !== undefined || now.properties === undefined)
      .filter((name) => !(now.required ?? []).includes(name))
      .map((name) => `${at}.${name} may be absent`),
    ...(recorded.items === undefined || now.items === undefined
      ? []
      : breaksBelow(recorded.items, now.items, `${at}[]`)),
    ...alternatives.flatMap((node, i) => breaksBelow(node, now.anyOf?.[i] ?? {}, `${at}|${i}`)),
  ]
}
