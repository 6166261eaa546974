import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Files that contain the version of the program; npm itself changes package.json and package-lock.json. */
const FILES = [
  'package-lock.json',
  'Dockerfile',
  'deploy/helm/*/Chart.yaml',
  'deploy/install.yaml',
  'deploy/kustomize/**/*.yaml',
  'docs/*.md',
]

/**
 * Matches the version of the program in `FILES`: in the lock file, in Chart.yaml, and in labels, arguments of builds,
 * images, URLs of release files and Git tags.
 */
const PLACE =
  // eslint-disable-next-line redos/no-vulnerable -- reads only files of this repository.
  /(?<="name": "vmcp-admission",\s+"version": "|^(?:version|appVersion): '?|app\.kubernetes\.io\/version: "?|vmcp-admission[-:]|vmcp-admission[@#]v|releases\/download\/v|refs\/tags\/v|\bVERSION=|\brev: v|\bref=v|\b(?:ref|targetRevision): v)\d+\.\d+\.\d+(?:-(?!linux)[a-z\d]+(?:\.\d+)*)?/gm

const UNRELEASED = '## Unreleased\n'

const read = (root: string, path: string): string => readFileSync(join(root, path), 'utf8')

/** The version in package.json. */
const ownVersion = (root: string): string =>
  (JSON.parse(read(root, 'package.json')) as { version: string }).version

/**
 * Writes the version in package.json to all `FILES`, and assigns the unreleased entries of the changelog to it, as
 * released on `day`. Called by `npm version 0.2.0` (the script `version` of package.json).
 */
function setVersion(root: string, day: string): void {
  const version = ownVersion(root)
  for (const path of globSync(FILES, { cwd: root }))
    writeFileSync(join(root, path), read(root, path).replaceAll(PLACE, version))
  const changelog = read(root, 'CHANGELOG.md')
  if (releaseNotes(changelog, version) !== undefined) return
  const heading = `${UNRELEASED}\n## ${version} - ${day}\n`
  writeFileSync(join(root, 'CHANGELOG.md'), changelog.replace(UNRELEASED, heading))
}

/**
 * Why the version in package.json cannot be released: a file of `FILES` contains another version; or, if `tag` is
 * given, the tag names another version, or the changelog has no entry.
 */
export function versionProblems(root: string, tag?: string): string[] {
  const version = ownVersion(root)
  const elsewhere = globSync(FILES, { cwd: root })
    .toSorted()
    .flatMap((path) => {
      const others = new Set((read(root, path).match(PLACE) ?? []).filter((found) => found !== version))
      return [...others].map((found) => `${path}: has version ${found}, package.json has version ${version}`)
    })
  if (tag === undefined) return elsewhere
  const wrongTag = tag === `v${version}` ? [] : [`tag ${tag}: package.json has version ${version}`]
  const notes = releaseNotes(read(root, 'CHANGELOG.md'), version)
  return [...elsewhere, ...wrongTag, ...(notes ? [] : [`CHANGELOG.md: says nothing of ${version}`])]
}

/** The entry of a version in the changelog, without its heading. Undefined when there is no such heading. */
export function releaseNotes(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((text) => /^\S+/.exec(text)?.[0] === version)
  return section?.slice(section.indexOf('\n')).trim()
}

/** Runs the command `set`, `check TAG` or `notes`. */
function main([command, tag]: readonly string[]): void {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  if (command === 'set') setVersion(root, new Date().toISOString().slice(0, 10))
  else if (command === 'notes')
    process.stdout.write(`${releaseNotes(read(root, 'CHANGELOG.md'), ownVersion(root)) ?? ''}\n`)
  else if (command === 'check' && tag !== undefined) {
    const problems = versionProblems(root, tag)
    for (const problem of problems) process.stderr.write(`${problem}\n`)
    if (problems.length > 0) process.exitCode = 1
  } else throw new Error('usage: version.ts set | check TAG | notes')
}

if (import.meta.main) main(process.argv.slice(2))
