import { constants, existsSync, type Stats } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** The most bytes that are read of a file, and of all files in a run. */
export const MOST_BYTES = { file: 32 * 2 ** 20, run: 128 * 2 ** 20 } as const

export const TOO_LARGE = 'larger than 32 MB'
export const TOO_MUCH = 'all files of a run together are larger than 128 MB'
const TOO_MANY_MARKS =
  'all files of a run together have more than a million keys, items and lines: --exclude leaves files out'

/** The number of bytes, and of YAML and JSON separators, that a run may still read. */
export interface Allowance {
  bytes: number
  /**
   * The number of line ends, colons, commas and brackets that a run may still read: for each of these separators of
   * YAML and JSON, parsing takes up to 1.5 KB of memory.
   */
  marks: number
}

const MOST_MARKS = 1_000_000

export const newAllowance = (): Allowance => ({ bytes: MOST_BYTES.run, marks: MOST_MARKS })

/** Subtracts the bytes from an allowance; returns the subtracted numbers. Throws Refused when too little is left. */
export function take(allowance: Allowance, bytes: Uint8Array): Allowance {
  if (bytes.length > allowance.bytes) throw new Refused(TOO_MUCH)
  let marks = 0
  for (const byte of bytes) marks += IS_MARK[byte] ?? 0
  if (marks > allowance.marks) throw new Refused(TOO_MANY_MARKS)
  allowance.marks -= marks
  allowance.bytes -= bytes.length
  return { bytes: bytes.length, marks }
}

const IS_MARK = new Uint8Array(256)
for (const mark of '\n\r:,[{') IS_MARK[mark.charCodeAt(0)] = 1

/** Thrown for a path that is not read; the message is the reason, and contains no text of a file. */
export class Refused extends Error {}

/** Names of manifests, including the one without an extension that kustomize reads. */
export const MANIFEST = /\.(ya?ml|json)$|(^|[\\/])Kustomization$/i

export const LINK_TO_OTHER_KIND = 'a link to a file of another kind is not read'

/**
 * The path to which the symbolic links in a name lead. In a repository or the working folder, links must lead to
 * folders and manifests in the same folder tree, so that the author of a repository cannot choose other files of this
 * machine. Elsewhere the user chose the path. Throws Refused.
 */
export async function followLinks(name: string): Promise<string> {
  const path = resolve(name)
  const real = await realpath(path)
  let hasLink = false
  for (const tree of treesAround(path)) {
    const inTree = relative(await realpath(tree), real)
    hasLink ||= inTree !== relative(tree, path)
    const steps = inTree.toLowerCase().split(sep)
    if (steps[0] === '..' || isAbsolute(inTree))
      throw new Refused(`a link that leads out of ${tree} is not read`)
    if (hasLink && steps.includes('.git')) throw new Refused('a link into .git is not read')
  }
  if (hasLink && MANIFEST.test(path) && !MANIFEST.test(real) && !(await stat(real)).isDirectory())
    throw new Refused(LINK_TO_OTHER_KIND)
  return real
}

/** The folders around a path that its symbolic links must not leave: the working folder, and folders with a `.git`. */
function treesAround(path: string): string[] {
  const cwd = process.cwd()
  const above = dirname(path)
  const isTree = path === cwd || existsSync(join(path, '.git'))
  return [...(isTree ? [path] : []), ...(above === path ? [] : treesAround(above))]
}

/**
 * The bytes of a regular file. Throws Refused for other files, because a device or a pipe may never end, and for files
 * that are too large: the bytes are counted, because files in /proc have the size 0. Opening does not wait for the
 * writer of a pipe.
 */
export async function readRegularFile(
  path: string,
  allowance: Allowance = newAllowance(),
  most: number = MOST_BYTES.file,
): Promise<Buffer> {
  // Checked before the file is opened, because opening can trigger a device.
  needRegular(await stat(path), most)
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = await file.stat()
    needRegular(stats, most)
    return await readChunks(file.createReadStream({ end: most, autoClose: false }), allowance, most)
  } finally {
    await file.close()
  }
}

function needRegular(stats: Stats, most: number): void {
  if (!stats.isFile()) throw new Refused('is not a regular file')
  if (stats.size > most) throw tooLarge(most)
}

/** All bytes of a stream. Throws Refused when there are too many. */
export async function readChunks(
  stream: AsyncIterable<Buffer | string>,
  allowance: Allowance,
  most: number = MOST_BYTES.file,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk)
    length += bytes.length
    if (length > most) throw tooLarge(most)
    if (length > allowance.bytes) throw new Refused(TOO_MUCH)
    chunks.push(bytes)
  }
  const whole = Buffer.concat(chunks, length)
  take(allowance, whole)
  return whole
}

const tooLarge = (most: number): Refused => new Refused(`larger than ${most / 2 ** 20} MB`)
