/** Reads messages from standard input: each is a line of JSON. */
import { parseJSONRPCMessage } from '@modelcontextprotocol/server'
import { isObject } from '../../rule/index.ts'
import { BOUNDS } from './bounds.ts'

/** Why a line is refused, and the id of its message, if known. */
interface Refusal {
  readonly code: number
  readonly message: string
  readonly id?: string | number
}

/** Error codes of JSON-RPC 2.0. */
const [PARSE_ERROR, INVALID_REQUEST] = [-32_700, -32_600]

/** The lines that are JSON-RPC messages. For each other line it calls `refuse` with the reason, and continues. */
export async function* messageLines(
  input: AsyncIterable<Buffer>,
  refuse: (refusal: Refusal) => void,
): AsyncIterable<Buffer> {
  for await (const line of boundedLines(input)) {
    const refusal = 'line' in line ? problemWith(line.line) : tooLong(line.ends)
    if (refusal !== undefined) refuse(refusal)
    else if ('line' in line && line.line.length > 1) yield line.line
  }
}

/** A line with its line end, or the first and last bytes of a line that is too long. */
type Line = { readonly line: Buffer } | { readonly ends: string }

/** The number of bytes that are kept of each end of a line that is too long. */
const END = 256

async function* boundedLines(input: AsyncIterable<Buffer>): AsyncIterable<Line> {
  let chunks: Buffer[] = []
  let length = 0
  let first: string | undefined
  for await (const chunk of input) {
    for (let from = 0; from < chunk.length;) {
      const feed = chunk.indexOf('\n', from)
      const part = chunk.subarray(from, feed < 0 ? chunk.length : feed + 1)
      from += part.length
      length += part.length
      chunks.push(part)
      if (length > BOUNDS.message) {
        const known = Buffer.concat(chunks)
        first ??= known.toString('utf8', 0, END)
        chunks = [known.subarray(-END)]
      }
      if (feed < 0) continue
      const line = Buffer.concat(chunks)
      yield first === undefined ? { line } : { ends: `${first}\n${line.toString('utf8')}` }
      chunks = []
      length = 0
      first = undefined
    }
  }
}

function problemWith(line: Buffer): Refusal | undefined {
  const text = line.toString('utf8')
  if (text.trim() === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { code: PARSE_ERROR, message: 'the line is not valid JSON: a message is a line' }
  }
  try {
    parseJSONRPCMessage(value)
    return undefined
  } catch {
    const id = isObject(value) ? value.id : undefined
    return {
      code: INVALID_REQUEST,
      message: 'the line is not a message of JSON-RPC 2.0: it needs jsonrpc, and method or result',
      ...((typeof id === 'string' || typeof id === 'number') && { id }),
    }
  }
}

/** Matches the id of a message after `jsonrpc` or as last member; never inside a string, where quotes are escaped. */
const ID = /^\{"jsonrpc":"2\.0","id":(\d+|"[^"\\]*"),|[,{]"id":(\d+|"[^"\\]*")\}\s*$/

function tooLong(ends: string): Refusal {
  const [, first, last] = ID.exec(ends) ?? []
  const id = first ?? last
  return {
    code: INVALID_REQUEST,
    message: `a message has at most ${BOUNDS.message / 2 ** 20} MB: name files as 'paths' in the place of their text`,
    ...(id !== undefined && { id: JSON.parse(id) as string | number }),
  }
}
