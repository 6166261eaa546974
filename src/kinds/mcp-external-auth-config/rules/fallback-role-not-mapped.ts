import { advice, defineRule, isAbsent, says } from '../../../rule/index.ts'
import { mappingTo, role } from '../examples.ts'
import type { RoleMappings } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const fallbackRoleNotMapped = defineRule({
  id: 'fallback-role-not-mapped',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'warning',
  summary: 'The fallback role is not one that a mapping gives to some callers only.',
  why: 'Callers whom no mapping matches get the fallback role, so everyone who may call gets the role that the mapping was to guard.',
  failure: {
    symptom: 'callers outside of the group have its role; CloudTrail shows it for everyone',
    reportedBy: 'nobody',
    consequence: 'lets anyone in',
  },
  sources: [says('2.4.1', 'fallbackRoleArn is the role where no mapping matches.')],
  *check({ spec }, { path }) {
    const { type, awsSts } = spec ?? {}
    const { roleMappings, fallbackRoleArn } = awsSts ?? {}
    if (type !== 'awsSts' || roleMappings === undefined || !fallbackRoleArn) return
    const isMapped = roleMappings.some((mapping) => mapping?.roleArn === fallbackRoleArn)
    if (!isMapped || isShield(roleMappings, fallbackRoleArn)) return
    yield advice(
      path.spec.awsSts.fallbackRoleArn,
      'is the role that a mapping guards, so callers whom no mapping matches get it too: name a role with fewer rights, or none',
    )
  },
  examples: {
    'a role of its own': {
      value: mappingTo({ admin: { claim: 'admins' } }, { fallbackRoleArn: role('reader') }),
    },
    'no fallback': { value: mappingTo({ admin: { claim: 'admins' } }) },
    'a role without rights, which keeps some from the roles of later mappings': {
      value: mappingTo(
        { 'no-access': { claim: 'suspended', priority: 0 }, admin: { claim: 'admins', priority: 1 } },
        { fallbackRoleArn: role('no-access') },
      ),
    },
    'the role of the administrators': {
      value: mappingTo(
        { reader: { claim: 'readers' }, admin: { claim: 'admins' } },
        { fallbackRoleArn: role('admin') },
      ),
      findings:
        'spec.awsSts.fallbackRoleArn: is the role that a mapping guards, so callers whom no mapping matches get it too: name a role with fewer rights, or none',
    },
    'the role of a matcher that is tried first': {
      value: mappingTo(
        {
          admin: { matcher: 'claims.email.endsWith("@example.com")', priority: 1 },
          developer: { claim: 'developers', priority: 2 },
        },
        { fallbackRoleArn: role('admin') },
      ),
      findings:
        'spec.awsSts.fallbackRoleArn: is the role that a mapping guards, so callers whom no mapping matches get it too: name a role with fewer rights, or none',
    },
  },
})

/** Words that suggest few permissions in the name of a role. */
const LEAST =
  /(^|[^a-z])(deny|denied|denyall|none|nothing|noaccess|no-access|no_access|noop|quarantine|restricted|limited|minimal|least|readonly|read-only|read_only|reader|readers|viewer|view|guest|public|default|base|basic|fallback)([^a-z]|$)/

/**
 * Whether the name of the fallback role suggests few permissions, and the role mapping that is tried last has another
 * role, or may have one because a priority or role ARN cannot be read. An earlier mapping to the fallback role may
 * then be meant to keep callers from that other role.
 */
function isShield(mappings: RoleMappings, fallback: string): boolean {
  const name = fallback.slice(fallback.lastIndexOf('/') + 1)
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
  if (!LEAST.test(words)) return false
  const read = mappings.flatMap((mapping) => {
    const priority = mapping && isAbsent(mapping, 'priority') ? Infinity : mapping?.priority
    return priority === undefined || mapping?.roleArn === undefined
      ? []
      : { roleArn: mapping.roleArn, priority }
  })
  if (read.length < mappings.length) return true
  const ordered = read.toSorted((a, b) => (a.priority === b.priority ? 0 : a.priority - b.priority))
  return ordered.at(-1)?.roleArn !== fallback
}
