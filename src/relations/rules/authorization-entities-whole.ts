import { defineRule } from '../../rule/index.ts'
import { AuthzConfig, AuthzConfigRef } from '../../kinds/schemas.ts'
import {
  aboutPolicies,
  entitiesRead,
  PERMIT,
  policiesConfig,
  policiesMap,
  policyListOf,
  quoted,
  shortType,
  WITH_POLICIES_CONFIG,
  WITH_POLICIES_MAP,
} from '../index.ts'

const withEntities = (...entities: object[]) => ({
  type: 'inline' as const,
  inline: { policies: [PERMIT], entitiesJson: JSON.stringify(entities) },
})
const staff = {
  uid: { type: 'THVGroup', id: 'staff' },
  attrs: {},
  parents: [{ type: 'Role', id: 'writer' }],
}

export const authorizationEntitiesWhole = defineRule({
  id: 'authorization-entities-whole',
  on: [AuthzConfig, AuthzConfigRef],
  reads: ['ConfigMap', 'MCPAuthzConfig'],
  appliesTo: { from: '0.63' },
  severity: 'warning',
  summary: 'Each entity of `entitiesJson` has a uid, attrs and parents, and there is one of a name.',
  why: 'Release 0.63 reads entities with cedar-go 1.9, which refuses one without a field that cedar-go 1.8 leaves empty, and a second one of a name.',
  failure: {
    symptom:
      'after an upgrade the pod ends with "failed to parse entities JSON": `invalid entity: "attrs" is missing or null`, `duplicate entity`',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: '0.63, perhaps earlier ones',
  },
  sources: ['decision 3'],
  *check(authzConfig, context) {
    const list = policyListOf(authzConfig, context)
    const given = list?.entities
    if (list === undefined || given === undefined) return
    const entities = entitiesRead(list, context)
    if (entities?.kind !== 'entities') return
    const tell = (index: number, text: string) =>
      aboutPolicies(list, given.at(), `${given.named}entity ${index} ${text}`)
    const seen = new Set<string>()
    for (const [i, { name, lacks }] of entities.entities.entries()) {
      const key = JSON.stringify([name.type, name.id])
      if (lacks !== undefined)
        yield tell(
          i,
          `has no ${lacks}, so a server of release 0.63 does not start; add ${lacks}, in lower case`,
        )
      else if (seen.has(key))
        yield tell(
          i,
          `is a second ${shortType(name.type)}::${quoted(name.id)}, so a server of release 0.63 does not start; keep one`,
        )
      else {
        seen.add(key)
        continue
      }
      return
    }
  },
  examples: {
    'a group that belongs to a role': { value: withEntities(staff) },
    'no attributes': {
      value: withEntities({ uid: staff.uid, parents: [] }),
      findings:
        'inline.entitiesJson: entity 0 has no attrs, so a server of release 0.63 does not start; add attrs, in lower case',
    },
    'a group twice': {
      value: withEntities(staff, { ...staff, parents: [] }),
      findings:
        'inline.entitiesJson: entity 1 is a second THVGroup::"staff", so a server of release 0.63 does not start; keep one',
    },
    'no parents, in a ConfigMap': {
      value: WITH_POLICIES_MAP,
      others: [policiesMap([PERMIT], { entities_json: JSON.stringify([{ uid: staff.uid, attrs: {} }]) })],
      findings:
        'configMap: in the ConfigMap "policies", entities_json: entity 0 has no parents, so a server of release 0.63 does not start; add parents, in lower case',
    },
    'no attributes, in an MCPAuthzConfig': {
      ...WITH_POLICIES_CONFIG,
      others: [
        policiesConfig([PERMIT], { entities_json: JSON.stringify([{ uid: staff.uid, parents: [] }]) }),
      ],
      findings:
        'name: in the MCPAuthzConfig "staff", entities_json: entity 0 has no attrs, so a server of release 0.63 does not start; add attrs, in lower case',
    },
  },
})
