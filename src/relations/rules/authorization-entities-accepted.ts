import { defineRule } from '../../rule/index.ts'
import { AuthzConfig, AuthzConfigRef } from '../../kinds/schemas.ts'
import {
  aboutPolicies,
  PERMIT,
  policiesConfig,
  policiesMap,
  policyListOf,
  entitiesRead,
  quoted,
  WITH_POLICIES_CONFIG,
  WITH_POLICIES_MAP,
} from '../index.ts'

/** Types of Cedar entities that operator releases themselves add to each authorization request. */
const OF_REQUESTS = ['Client', 'Tool', 'Prompt', 'Resource', 'Skill', 'Action']

const withEntities = (entitiesJson: string) => ({
  type: 'inline' as const,
  inline: { policies: [PERMIT], entitiesJson },
})
const entity = (type: string, id: string, more: object = {}) => ({
  uid: { type, id },
  attrs: {},
  parents: [],
  ...more,
})

export const authorizationEntitiesAccepted = defineRule({
  id: 'authorization-entities-accepted',
  on: [AuthzConfig, AuthzConfigRef],
  reads: ['ConfigMap', 'MCPAuthzConfig'],
  severity: 'warning',
  summary:
    '`entitiesJson` is a JSON array of entities as cedar-go reads them, and gives nothing to an entity that each request brings itself.',
  why: 'An entity is `{"uid": {"type": …, "id": …}, "attrs": {…}, "parents": […]}`. Where one is written otherwise, the server does not start, or what is written otherwise is ignored. Each request brings its Client, Action and Tool, Prompt or Resource, in place of what the entities say of them: a policy that reads an attribute of them fails, which denies the request.',
  failure: {
    symptom:
      'the pod ends with "failed to parse entities JSON", such as `json: cannot unmarshal string into Go value` or `json entity not found`; or the log says `does not have the attribute`',
    reportedBy: 'start-up',
    consequence: 'does not start',
  },
  sources: ['decision 3'],
  *check(authzConfig, context) {
    const list = policyListOf(authzConfig, context)
    const given = list?.entities
    if (list === undefined || given === undefined) return
    const read = entitiesRead(list, context)
    if (read === undefined) return
    const tell = (text: string) => aboutPolicies(list, given.at(), `${given.named}${text}`)
    if (read.kind === 'refused') {
      const place = read.index === undefined ? '' : ` at entity ${read.index}`
      yield tell(`is refused${place}, so the server does not start: ${read.hint}`)
      return
    }
    const replaced = read.entities.find(
      ({ name, hasAttributes, parents }) =>
        OF_REQUESTS.includes(name.type) && (hasAttributes || parents.length > 0),
    )
    if (replaced !== undefined) {
      const { name, hasAttributes } = replaced
      const what = hasAttributes ? 'attributes' : 'parents'
      yield tell(
        `the ${what} of ${name.type}::${quoted(name.id)} are ignored, as each request brings its own ${name.type}; compare names in a policy`,
      )
    }
    const odd = read.entities.findIndex(({ unread }) => unread !== undefined)
    const unread = read.entities[odd]?.unread
    if (unread === undefined) return
    yield tell(
      `entity ${odd}: ${quoted(unread)} is not read; ${
        ['type', 'id'].includes(unread)
          ? 'write {"uid": {"type": …, "id": …}}'
          : unread.startsWith('attr')
            ? 'write "attrs"'
            : 'there are uid, attrs, parents and tags'
      }`,
    )
  },
  examples: {
    none: { value: withEntities('[]') },
    'groups that belong to roles': {
      value: withEntities(
        JSON.stringify([
          entity('THVGroup', 'staff', { parents: [{ type: 'Role', id: 'writer' }] }),
          { uid: { __entity: { type: 'Role', id: 'writer' } }, attrs: { level: 3 }, parents: [] },
        ]),
      ),
    },
    'a tool without anything of its own': {
      value: {
        type: 'inline',
        inline: { policies: [PERMIT], entitiesJson: JSON.stringify([entity('Tool', 'weather')]) },
      },
    },
    'entities of an MCPAuthzConfig': [
      { ...WITH_POLICIES_CONFIG, others: [policiesConfig([PERMIT], { entities_json: '[]' })] },
      {
        ...WITH_POLICIES_CONFIG,
        others: [policiesConfig([PERMIT], { entities_json: '{"uid": "Role::admin"}' })],
        findings:
          'name: in the MCPAuthzConfig "staff", entities_json: is refused, so the server does not start: must be a JSON array of entities',
      },
    ],
    'names as texts': {
      value: withEntities('[{"uid": "Tool::weather", "attrs": {"owner": "alice"}}]'),
      findings:
        'inline.entitiesJson: is refused at entity 0, so the server does not start: uid must be {"type": …, "id": …}: {"type": "Tool", "id": "weather"}',
    },
    'parents as texts': {
      value: withEntities(JSON.stringify([entity('THVGroup', 'staff', { parents: ['Role::"writer"'] })])),
      findings:
        'inline.entitiesJson: is refused at entity 0, so the server does not start: each parent must be {"type": …, "id": …}: {"type": "Role", "id": "writer"}',
    },
    'a whole number with a point': {
      value: withEntities(
        '[{"uid": {"type": "Role", "id": "writer"}, "attrs": {"level": 1.0}, "parents": []}]',
      ),
      findings:
        'inline.entitiesJson: is refused at entity 0, so the server does not start: attrs cannot hold a whole number with a point or an exponent, or beyond 64 bits; write its digits alone',
    },
    'an object': {
      value: withEntities('{}'),
      findings:
        'inline.entitiesJson: is refused, so the server does not start: must be a JSON array of entities',
    },
    'an attribute of a tool': {
      value: withEntities(JSON.stringify([entity('Tool', 'weather', { attrs: { owner: 'alice' } })])),
      findings:
        'inline.entitiesJson: the attributes of Tool::"weather" are ignored, as each request brings its own Tool; compare names in a policy',
    },
    'the name of another format': {
      value: {
        type: 'inline',
        inline: {
          policies: [PERMIT],
          entitiesJson:
            '[{"type": "THVGroup", "id": "staff", "parents": [{"type": "Role", "id": "writer"}]}]',
        },
      },
      findings: 'inline.entitiesJson: entity 0: "type" is not read; write {"uid": {"type": …, "id": …}}',
    },
    'entities of a ConfigMap': {
      value: WITH_POLICIES_MAP,
      others: [policiesMap([PERMIT], { entities_json: '[{"uid": {"type": "Tool", "id": "a"},}]' })],
      findings:
        'configMap: in the ConfigMap "policies", entities_json: is refused, so the server does not start: is not JSON',
    },
  },
})
