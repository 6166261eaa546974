import { PAGES, pageOf } from './pages.ts'

/** Prints the HTML page with this name to standard output, for commands that run in a clone of the repository. */
async function main(name: string | undefined): Promise<void> {
  const page = PAGES.find((each) => each === name)
  if (page === undefined) throw new Error(`'${String(name)}' is not a page`)
  process.stdout.write((await pageOf(`src/pages/${page}`)).html)
}

await main(process.argv[2])
