import { object, optional } from '../fields.ts'
import { openStatus, resource } from '../parts.ts'

/** Specification, section 1. */
export const MCPGroup = resource(
  'MCPGroup',
  {
    spec: optional(object({}, 'Settings of the group.', { source: '1', open: true })),
    status: optional(openStatus()),
  },
  'A named group of backends.',
)
