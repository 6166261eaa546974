import { readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'

const PAGE = fileURLToPath(new URL('../../docs/pipelines.md', import.meta.url))

/** The PATH of a user: npm puts programs of this repository before it. */
export const USER_PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((path) => !path.includes('node_modules'))
  .join(delimiter)

/** The YAML of docs/pipelines.md below a first line that is this comment. */
export function recipe(name: string): string {
  const [, text] = readFileSync(PAGE, 'utf8').split(`\`\`\`yaml\n# ${name}\n`)
  if (text === undefined) throw new Error(`docs/pipelines.md has no recipe '${name}'`)
  return text.slice(0, text.indexOf('```'))
}

/** The commands of a section of docs/pipelines.md that are for a shell. */
export function shellOf(section: string): string {
  const text = readFileSync(PAGE, 'utf8').split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...text.matchAll(/^```sh\n([^`]*)/gm)].map(([, block = '']) => block).join('')
}
