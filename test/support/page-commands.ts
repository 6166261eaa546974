/** A command in a docs page as a user would copy it: a line with its continuation lines, or a whole script. */
export interface PageCommand {
  readonly page: string
  /** The heading of the section. */
  readonly section: string
  readonly text: string
}

const PROGRAMS =
  /^(?:\.\/)?(?:kubectl|helm|npm|npx|docker|podman|git|vmcp-admission|cosign|flux|export|openssl|curl) /
const BLOCK = /^( *)```(\w*)[^\n]*\n([\s\S]*?)^\1```$|((?:^ {4}.*\S.*\n)+)|^#+ (.+)$/gm

/** The commands in the code blocks of a page: scripts, lines after a prompt, and indented lines. */
export function commandsOf(page: string, markdown: string): PageCommand[] {
  let section = ''
  const commands: PageCommand[] = []
  for (const [, , language, fenced = '', indented = '', heading] of markdown.matchAll(BLOCK)) {
    section = heading ?? section
    const texts =
      language === 'sh'
        ? [fenced.trim()]
        : language === 'console'
          ? lines(fenced).flatMap((line) => /^\$ (.*)$/.exec(line)?.[1] ?? [])
          : language === undefined || language === ''
            ? lines(fenced + indented).filter((line) => PROGRAMS.test(`${line} `))
            : []
    commands.push(...texts.map((text) => ({ page, section, text })))
  }
  return commands
}

/** The commands of a block, with continuation lines joined and trailing explanations removed. */
const lines = (block: string): string[] =>
  block
    .replaceAll(/ *\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.trim().replace(/ {2,}\S.*$| +# .*$/, ''))

/** Whether the text is a synopsis with placeholders, such as `check FILE ...`. */
export const isForm = (text: string): boolean =>
  /\.\.\.|\[|\b[A-Z]{3,}\b/.test(text.replaceAll(/'[^']*'|https?:\S+|\b[A-Z]+=\S+/g, ''))
