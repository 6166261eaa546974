import { DEFAULT_API_GROUP } from '../../kinds/index.ts'
import { readSources } from './files.ts'

/** The most files that are searched for manifests, because a person waits for the result. */
const MOST_FILES = 300

/** Whether a folder contains a file that mentions our API group. */
export async function holdsManifests(folder: string): Promise<boolean> {
  let left = MOST_FILES
  for await (const source of readSources(folder)) {
    if ('text' in source && source.text.includes(`${DEFAULT_API_GROUP}/`)) return true
    if (--left === 0) return false
  }
  return false
}
