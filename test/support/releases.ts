import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ReleaseSchema } from '../../src/release/schema.ts'

const FOLDER = fileURLToPath(new URL('../../releases/', import.meta.url))

/** The content of a file in `releases/`. */
export interface KnownRelease {
  readonly version: string
  readonly source: string
  readonly schemas: Readonly<Record<string, ReleaseSchema>>
}

/** All files of `releases/`, oldest first. */
export const knownReleases = (): readonly KnownRelease[] =>
  readdirSync(FOLDER)
    .map((name) => JSON.parse(readFileSync(FOLDER + name, 'utf8')) as KnownRelease)
    .sort((a, b) => minorOf(a) - minorOf(b))

const minorOf = ({ version }: KnownRelease) => Number(version.split('.')[1])
