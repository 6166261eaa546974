import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

/**
 * Calls the tools of the MCP server in a folder that `writeInputs` has filled. Returns the errors of gateway.yaml, the
 * role that aws.yaml gives a caller (its matchers run in a worker thread), and the number of docs pages.
 */
export async function askOf(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string>,
) {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StdioClientTransport({ command, args: [...args, 'mcp'], cwd, env }))
  try {
    const call = async (name: string, input: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: input })).structuredContent as Record<string, unknown>
    const { counts } = await call('check', { paths: ['gateway.yaml'] })
    const claims = { sub: 'alice', email: 'a@example.com', email_verified: true, groups: ['billing-admins'] }
    const { role } = await call('role', { path: 'aws.yaml', claims })
    const { resources } = await client.listResources()
    return { errors: (counts as { errors: number }).errors, role, docs: resources.length > 25 }
  } finally {
    await client.close()
  }
}

export const ANSWERS = { errors: 3, role: 'arn:aws:iam::123456789012:role/billing-admin', docs: true }
