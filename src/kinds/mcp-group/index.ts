import { AGE, type Kind } from '../kind.ts'
import { MCPGroup } from './schema.ts'
import { deletedResourceUnreferenced } from '../between/rules/deleted-resource-unreferenced.ts'

export const mcpGroup: Kind = {
  kind: 'MCPGroup',
  plural: 'mcpgroups',
  shortNames: [],
  printerColumns: [AGE],
  schema: MCPGroup,
  rules: [deletedResourceUnreferenced],
  parts: [],
}
