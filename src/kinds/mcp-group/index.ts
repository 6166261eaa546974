import { AGE, type Kind } from '../kind.ts'
import { MCPGroup } from './schema.ts'

export const mcpGroup: Kind = {
  kind: 'MCPGroup',
  plural: 'mcpgroups',
  shortNames: [],
  printerColumns: [AGE],
  schema: MCPGroup,
  parts: [],
}
