import { type EntityName, type Fault, type Origin, TYPE, type Variable } from '../cedar/index.ts'
import { nearest, shortQuote, shortText } from '../rule/index.ts'
import { ACTIONS, DEFAULT_GROUP_TYPE, HINTS, LISTS, RESOURCE_TYPES, type Setting } from './policy-requests.ts'

/** Describes a fault of a policy: what is wrong, and what to write instead. */
export function faultText(fault: Fault, setting: Setting): string {
  switch (fault.kind) {
    case 'entity':
      return entityText(fault.variable, fault.relation, fault.entity, setting)
    case 'type':
      return typeText(fault.variable, fault.type)
    case 'missing':
      return missingText(fault.origin)
    case 'unguarded':
      return `${shownOrigin(fault.origin)} may be absent; ask with 'has' first`
    case 'number':
      return numberText(fault)
    case 'value':
      return valueText(fault)
    case 'literal':
      return fault.text === ''
        ? `${fault.name} has a wrong number of arguments`
        : `decimal(${quoted(fault.text)}) is not a decimal; write decimal("${wholePart(fault.text)}.0")`
  }
}

const wholePart = (text: string): string => /^-?\d{1,15}$/.exec(text)?.[0] ?? '5'

const shown = ({ type, id }: EntityName): string => `${shortType(type)}::${quoted(id)}`
export const shortType = (type: string): string => shortText(type, 40)
/** Text of a policy in quotes, cut to 40 characters because a message may repeat it. */
export const quoted = (text: string): string => shortQuote(shortText(text, 40))
const shownOrigin = ({ of, name }: Origin): string =>
  /^[A-Za-z_]\w{0,60}$/.test(name) ? `${of}.${name}` : `${of}[${quoted(name)}]`

function entityText(
  variable: string,
  relation: '==' | 'in',
  entity: EntityName,
  { groupType: groups = DEFAULT_GROUP_TYPE, server, hasBackends, callers }: Setting,
): string {
  const { type, id } = entity
  const groupType = shortType(groups)
  if (variable === 'action') return actionText(entity)
  if (variable === 'principal') {
    if (type === 'Client')
      return callers.subject === undefined || relation === 'in'
        ? `no caller is ${shown(entity)}`
        : `the only caller is Client::${quoted(callers.subject)}`
    if (relation === '==')
      return `callers are Client::"<sub>", never ${shown(entity)}; write ${
        isGroupLike(type, groups) ? `in ${groupType}::${quoted(id)}` : `Client::${quoted(id)}`
      }`
    if (type === DEFAULT_GROUP_TYPE && groups !== type)
      return `groups are ${groupType} (groupEntityType), never ${shown(entity)}; write ${groupType}::${quoted(id)}`
    return isGroupLike(type, groups) || type === 'User'
      ? `nobody is in ${shown(entity)}: groups of a token are ${groupType}; write ${groupType}::${quoted(id)}`
      : `nobody is in ${shown(entity)}: write ${groupType}::${quoted(id)}, or give it as parent of a ${groupType} in the entities`
  }
  if (relation === '==' && (type === 'MCP' || (type === 'Backend' && hasBackends)))
    return `a resource is in ${shown(entity)}, never the same; write resource in ${shown(entity)}`
  if (type === 'Backend' && hasBackends) return `only tools are in ${shown(entity)}`
  if (type === 'MCP') {
    return server === undefined
      ? `no resource is in ${shown(entity)}`
      : `the resources here are in MCP::${quoted(server)}, never in ${shown(entity)}`
  }
  if (RESOURCE_TYPES.includes(type)) return `${shown(entity)} is never asked for with this action`
  const near = nearest(type, RESOURCE_TYPES)
  const isServer = /server|gateway|backend|mcp/i.test(type)
  const instead =
    near !== undefined
      ? `; did you mean ${near}`
      : isServer && server !== undefined
        ? `; write resource in MCP::${quoted(server)}`
        : ''
  return `resources are Tool, Prompt and Resource, never ${shown(entity)}${instead}`
}

const isGroupLike = (type: string, groupType: string): boolean =>
  /group|role|team/i.test(type) || type === groupType

function actionText(entity: EntityName): string {
  const { type, id } = entity
  if (type !== 'Action') return `actions are Action::"<name>", never ${shown(entity)}`
  const permitted = LISTS.get(id)
  if (permitted !== undefined)
    return `${shown(entity)} is never asked: lists show what "${permitted}" permits`
  const near = nearest(id, ACTIONS) ?? actionMeant(id)
  return near === undefined
    ? `no request asks ${shown(entity)}; there are call_tool, get_prompt and read_resource`
    : `no request asks ${shown(entity)}; write Action::"${near}"`
}

/** The Cedar action that was meant by an MCP name such as `tools/call`, or by an action's name in another product. */
function actionMeant(id: string): string | undefined {
  if (/prompt/i.test(id)) return 'get_prompt'
  if (/skill/i.test(id)) return 'get_skill'
  if (/resource|^read/i.test(id)) return 'read_resource'
  return /tool|call|invoke|execute/i.test(id) ? 'call_tool' : undefined
}

function typeText(variable: string, type: string): string {
  if (variable === 'principal') return `every principal is a Client, never a ${shortType(type)}`
  if (variable === 'action') return `every action is an Action, never a ${shortType(type)}`
  if (RESOURCE_TYPES.includes(type)) return `this action never asks for a ${type}`
  const near = nearest(type, RESOURCE_TYPES)
  return `resources are Tool, Prompt and Resource, never a ${shortType(type)}${near === undefined ? '' : `; did you mean ${near}`}`
}

function missingText(origin: Origin): string {
  const { of, name } = origin
  const there = shownOrigin(origin)
  if (of === 'resource' && HINTS.includes(name)) return `only tools have ${there}`
  if (of === 'resource' && name === 'uri') return `only a resource read has ${there}`
  if (name.startsWith('claimset_'))
    return `${there} is there only with multi_valued_claims of a ConfigMap or MCPAuthzConfig, never with inline policies`
  const instead = insteadOf(origin)
  const has = instead === undefined ? `; ${THERE[of]}` : `; write ${instead}`
  return `there is no ${there}${has}`
}

const THERE: Readonly<Record<Origin['of'], string>> = {
  principal: 'a principal has claim_<name> only',
  action: 'an action has operation only',
  resource: 'a resource has name, operation, feature, uri, hints, arg_<name>',
  context: 'the context has claim_<name> and arg_<name> only',
}

/** The attribute that the user probably meant by the name of an attribute that does not exist. */
function insteadOf({ of, name }: Origin): string | undefined {
  if (!/^[A-Za-z_]\w{0,60}$/.test(name)) return undefined
  if (name.startsWith('claim_')) return `principal.${name}`
  if (name.startsWith('arg_')) return `context.${name}`
  if (HINTS.includes(name)) return `resource.${name}`
  const claim = /^claims?([A-Z]\w*)$/.exec(name)?.[1]?.toLowerCase()
  if (of === 'principal') {
    if (name === 'id' || name === 'subject' || name === 'clientId') return 'principal.claim_sub'
    if (name === 'group' || name === 'role') return `principal.claim_${name}s`
    return `principal.claim_${claim ?? name}`
  }
  if (of === 'context') {
    if (CLAIM_NAMES.has(name)) return `context.claim_${name}`
    return ALSO_NAME.test(name) ? 'resource.name' : undefined
  }
  if (of === 'action') return undefined
  const hint = HINTS.find((each) => each.toLowerCase() === `${name.replaceAll('_', '').toLowerCase()}hint`)
  const near = hint ?? nearest(name, ['name', 'operation', 'feature', 'uri', ...HINTS])
  if (near !== undefined) return `resource.${near}`
  return ALSO_NAME.test(name) ? 'resource.name' : undefined
}

const ALSO_NAME = /^(?:id|tool|tool_?(?:name|id))$/i
const CLAIM_NAMES = new Set(
  'sub iss aud email name groups roles scope scp exp iat azp client_id upn'.split(' '),
)

function numberText({ origin, operator, value }: Extract<Fault, { kind: 'number' }>): string {
  const what = origin === undefined ? 'a number' : shownOrigin(origin)
  const number = `decimal("${value ?? 5}.0")`
  const method = METHODS[operator]
  if (method !== undefined)
    return `a number in ${what} is a decimal, on which ${operator} fails; write .${method}(${number})`
  if (operator === 'contains')
    return `numbers in ${what} are decimals, never ${value ?? 'whole'}; write ${number}`
  return operator === '=='
    ? `a number in ${what} is a decimal, never ${value ?? 'whole'}; write == ${number}`
    : `a number in ${what} is a decimal, always != ${value ?? 'a whole one'}; write != ${number}`
}

const METHODS: Readonly<Record<string, string | undefined>> = {
  '<': 'lessThan',
  '<=': 'lessThanOrEqual',
  '>': 'greaterThan',
  '>=': 'greaterThanOrEqual',
}

const NAMED: readonly (readonly [keyof typeof TYPE, string])[] = [
  ['string', 'string'],
  ['set', 'set'],
  ['boolean', 'boolean'],
  ['decimal', 'decimal'],
  ['record', 'record'],
  ['long', 'long'],
  ['entity', 'entity'],
]

type ValueFault = Extract<Fault, { kind: 'value' }>

function valueText(fault: ValueFault): string {
  const { origin, variable, operation, types, isCompared, text } = fault
  const what = origin === undefined ? (variable ?? 'a value') : shownOrigin(origin)
  const names = NAMED.filter(([type]) => (types & TYPE[type]) !== 0).map(([, name]) => name)
  const isArgument = origin?.name.startsWith('arg_') === true
  const is = isArgument
    ? `${what} is a string, decimal or boolean`
    : names.length > 2
      ? `${what} is a JSON value`
      : `${what} is ${names[0] === 'entity' ? 'an' : 'a'} ${names.join(' or ') || 'value of another type'}`
  const instead =
    isArgument && OF_PARTS.test(operation)
      ? `; for a list or an object there is ${what}_present alone`
      : isCompared && variable !== undefined && text !== undefined
        ? `; write ${COMPARED[variable]}${quoted(text)}`
        : insteadOfOperation(fault)
  if (isCompared)
    return `${is}, never ${text === undefined ? 'what it is compared with' : quoted(text)}${instead}`
  if (operation === 'a condition') return `${is}, not a condition`
  const fails = operation === 'arithmetic' ? operation : `\`${shortText(operation, 40)}\``
  return `${is}, on which ${fails} fails${instead}`
}

/**
 * Matches operations on sets and records, which fail on arguments of tools: policies never see an argument as a set or
 * record.
 */
const OF_PARTS = /^\.|^has$/

const COMPARED: Readonly<Record<Variable, string>> = {
  principal: 'principal == Client::',
  action: 'action == Action::',
  resource: 'resource.name == ',
  context: 'context.arg_<name> == ',
}

function insteadOfOperation({ origin, operation, types, isCompared, text }: ValueFault): string {
  if (operation === 'in') return '; write `in <type>::"…"` for an entity, `.contains("…")` for a set'
  const isSet = types === TYPE.set
  const word = text === undefined ? undefined : text.replaceAll('*', '')
  const given = word === undefined || word === '' ? '"…"' : quoted(word)
  if (isSet && (operation === 'like' || (isCompared && operation !== '.contains')))
    return `; write \`.contains(${given})\``
  if (types === TYPE.string && /^\.contains(?:All|Any)$/.test(operation))
    return '; write a set, such as ["a"]'
  if (types === TYPE.string && operation.startsWith('.contains'))
    return `; write \`${origin === undefined ? '…' : shownOrigin(origin)} like "*${given.slice(1, -1)}*"\``
  return ''
}
