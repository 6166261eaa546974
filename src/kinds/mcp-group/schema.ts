import { object, optional } from '../fields.ts'
import { openStatus, resource } from '../parts.ts'

/** The fields of an MCPGroup (section 1 of the specification). */
export const MCPGroup = resource(
  'MCPGroup',
  {
    spec: optional(object({}, 'Settings of the group.', { source: '1', open: true })),
    status: optional(openStatus()),
  },
  'A named group of backends.',
)
