import { readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'

const pathOf = (page: string) => fileURLToPath(new URL(`../../docs/${page}`, import.meta.url))

/** The user's PATH, without the node_modules/.bin folders that npm adds. */
export const USER_PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((path) => !path.includes('node_modules'))
  .join(delimiter)

/** The YAML block of a docs page whose first line is the comment `# NAME`, without that line. */
export function recipe(name: string, page = 'pipelines.md'): string {
  const [, text] = readFileSync(pathOf(page), 'utf8').split(`\`\`\`yaml\n# ${name}\n`)
  if (text === undefined) throw new Error(`docs/${page} has no recipe '${name}'`)
  return text.slice(0, text.indexOf('```'))
}

/** The shell commands in a section of docs/pipelines.md. */
export function shellOf(section: string): string {
  const text =
    readFileSync(pathOf('pipelines.md'), 'utf8').split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...text.matchAll(/^```sh\n([^`]*)/gm)].map(([, block = '']) => block).join('')
}
