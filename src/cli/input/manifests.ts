import { DEFAULT_API_GROUP } from '../../kinds/index.ts'
import { readSources } from './files.ts'

/** The most files that are read: a person waits. */
const MOST_FILES = 300

/** Whether a folder has a file that names our API group. */
export async function holdsManifests(folder: string): Promise<boolean> {
  let left = MOST_FILES
  for await (const source of readSources(folder)) {
    if ('text' in source && source.text.includes(`${DEFAULT_API_GROUP}/`)) return true
    if (--left === 0) return false
  }
  return false
}
