import { pageOf } from './pages.ts'

/** Prints a page, for commands that run in a clone. */
async function main(name: string | undefined): Promise<void> {
  if (name !== 'playground' && name !== 'audit') throw new Error(`'${String(name)}' is not a page`)
  process.stdout.write((await pageOf(name)).html)
}

await main(process.argv[2])
