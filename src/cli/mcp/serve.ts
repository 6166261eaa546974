import { Readable } from 'node:stream'
import { type CallToolResult, McpServer, type StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import manifest from '../../../package.json' with { type: 'json' }
import { type Environment, UsageError } from '../../configuration/flags.ts'
import { EXIT } from '../output/report.ts'
import { BOUNDS } from './bounds.ts'
import { type Called, Calls } from './calls.ts'
import { messageLines } from './lines.ts'
import { addResources } from './resources.ts'
import { type Inputs, problemWithInput, type ToolDescription, type ToolName, TOOLS } from './tools.ts'

/** Serves MCP over standard input and output with these flags; resolves to the exit code when the client has ended. */
export function serve(args: readonly string[], environment: Environment): Promise<number> {
  const calls = new Calls()
  const transport: StdioServerTransport = new StdioServerTransport(
    Readable.from(
      messageLines(process.stdin, ({ id, code, message }) => {
        const answer = { jsonrpc: '2.0' as const, ...(id !== undefined && { id }), error: { code, message } }
        transport.send(answer).catch(() => undefined)
      }),
    ),
    process.stdout,
    { maxBufferSize: BOUNDS.message },
  )
  return new Promise((resolve) => {
    serveStdio(() => serverOf(calls, args, environment), { transport })
    const { onclose } = transport
    transport.onclose = () => {
      onclose?.()
      resolve(EXIT.clean)
    }
  })
}

const instructions = () =>
  `Judges manifests of ToolHive's vMCP. Paths are below ${process.cwd()}. Nothing is written, no cluster is read. Check first, explain the ids of findings, mend the manifests, check again.`

/** An MCP server with all tools and resources, for one connection. */
export function serverOf(calls: Calls, args: readonly string[], environment: Environment): McpServer {
  const server = new McpServer(
    { name: manifest.name, version: manifest.version },
    { instructions: instructions() },
  )
  for (const [name, tool] of Object.entries(TOOLS) as [ToolName, ToolDescription][]) {
    server.registerTool(
      name,
      {
        title: tool.title,
        description: tool.description,
        inputSchema: schemaOf(tool.input, (value) => problemWithInput(name, value)),
        // Tests, not this server, check the results of the commands against this schema.
        ...(tool.output !== undefined && { outputSchema: schemaOf(tool.output, () => undefined) }),
        annotations: { readOnlyHint: true, openWorldHint: false },
      },
      async (input, { mcpReq: { signal } }) => {
        const { manifests = '' } = input as { readonly manifests?: string }
        const call = { tool: name, input: input as Inputs[ToolName], args, environment: { ...environment } }
        return resultOf(await calls.run(call, manifests, signal))
      },
    )
  }
  addResources(server)
  return server
}

/** A JSON Schema with an additional check, in the form that the SDK accepts. */
function schemaOf(schema: object, problem: (value: unknown) => string | undefined): StandardSchemaWithJSON {
  const json = () => schema as Record<string, unknown>
  const validate = (value: unknown) => {
    const message = problemIn(value, problem)
    return message === undefined ? { value } : { issues: [{ message }] }
  }
  return {
    '~standard': { version: 1, vendor: manifest.name, validate, jsonSchema: { input: json, output: json } },
  }
}

function problemIn(value: unknown, problem: (value: unknown) => string | undefined): string | undefined {
  try {
    return problem(value)
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
}

function resultOf({ json, text, stdout, stderr, isError }: Called): CallToolResult {
  if (isError) return { content: [{ type: 'text', text: text ?? '' }], isError }
  if (json !== undefined && json.length > BOUNDS.result)
    return {
      content: [
        {
          type: 'text',
          text: `the result has ${json.length} characters, and at most ${BOUNDS.result} are given: name fewer files`,
        },
      ],
      isError: true,
    }
  const whole = [text ?? stdout, stderr].filter(Boolean).join('\n')
  return {
    content: [{ type: 'text', text: json === undefined ? whole : cut(whole) }],
    ...(json !== undefined && { structuredContent: JSON.parse(json) as Record<string, unknown> }),
  }
}

const cut = (text: string): string =>
  text.length <= BOUNDS.text ? text : `${text.slice(0, BOUNDS.text)}\n… the structured result has the rest\n`
