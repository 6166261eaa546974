const BEGIN = '-----BEGIN CERTIFICATE-----'
const END = '-----END CERTIFICATE-----'

/** The certificates in a PEM text, each as written there. */
export function certificateBlocks(pem: string): string[] {
  const blocks: string[] = []
  for (let start = pem.indexOf(BEGIN); start >= 0;) {
    const end = pem.indexOf(END, start + BEGIN.length)
    if (end < 0) break
    blocks.push(pem.slice(start, end + END.length))
    start = pem.indexOf(BEGIN, end + END.length)
  }
  return blocks
}
