const NEWLINE = 0x0a
const LONGEST = 16 * 1_024 * 1_024

/**
 * The lines of a UTF-8 stream, which may be split anywhere. Only `\n` ends a line; a last line without `\n` is dropped.
 * Throws an Error when a line has more than `longest` bytes.
 */
export async function* lines(parts: AsyncIterable<Buffer>, longest = LONGEST): AsyncGenerator<string> {
  let begun: Buffer[] = []
  let length = 0
  for await (const part of parts) {
    let start = 0
    for (let end = part.indexOf(NEWLINE); end >= 0; end = part.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...begun, part.subarray(start, end)]).toString()
      begun = []
      length = 0
      start = end + 1
    }
    if (start === part.length) continue
    begun.push(part.subarray(start))
    length += part.length - start
    if (length > longest) throw new Error(`a line of more than ${longest} bytes`)
  }
}
