/** The MCP resources: a page for each rule, and the other docs. */
import { McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server'
import { ALL_IDS } from '../../engine/index.ts'
import { idPage } from '../output/id-page.ts'
import { readDocs } from '../program-files.ts'

/** The most values in a completion that the MCP protocol allows. */
const MOST_COMPLETIONS = 100

const startingWith = (names: readonly string[]) => (start: string) =>
  names
    .filter((name) => name.startsWith(start))
    .toSorted()
    .slice(0, MOST_COMPLETIONS)

export function addResources(server: McpServer): void {
  const docs = readDocs()
  server.registerResource(
    'docs',
    new ResourceTemplate('vmcp-admission://docs/{name}', {
      list: () => ({
        resources: Array.from(docs.keys(), (name) => ({
          uri: `vmcp-admission://docs/${name}`,
          name: `docs/${name}.md`,
        })),
      }),
      complete: { name: startingWith([...docs.keys()]) },
    }),
    {
      title: 'Documentation',
      description: 'A page of docs/, such as model (the seven kinds and how they refer to each other).',
      mimeType: 'text/markdown',
    },
    ({ href }, { name }) => pageFor(href, 'text/markdown', docs.get(String(name))?.()),
  )
  server.registerResource(
    'rules',
    new ResourceTemplate('vmcp-admission://rules/{id}', {
      // Does not list the rules as resources: the page `vmcp-admission://docs/rules` lists them, one per line.
      list: undefined,
      complete: { id: startingWith([...ALL_IDS]) },
    }),
    {
      title: 'Rules',
      description: 'What the rule of a finding asks for, and why, with examples; the id ends a finding.',
      mimeType: 'text/plain',
    },
    ({ href }, { id }) => pageFor(href, 'text/plain', idPage(String(id))?.join('\n')),
  )
}

function pageFor(uri: string, mimeType: string, text: string | undefined) {
  if (text === undefined) throw new ResourceNotFoundError(uri)
  return { contents: [{ uri, mimeType, text }] }
}
