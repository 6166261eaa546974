/**
 * This file escapes text of strangers in outputs. Escaped text cannot move the cursor, add a line or markup, or be a
 * command for a CI that shows the log. `test/strangers-output.test.ts` has the syntax of each CI.
 */

/** Control characters, line ends and characters that change the direction of text. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
/** The characters of `UNSEEN` that JSON does not escape. */
const MARK = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/**
 * Texts that a CI treats as the start of a command anywhere in a line: `##[…]` (GitHub, Azure), `##vso[…]` (Azure),
 * `##teamcity[…]`, `travis_fold:`. A CI that is written in .NET ignores invisible characters in these, such as U+00AD.
 */
const COMMAND = /#\p{DI}*#[\p{L}\p{DI}]*\[|_fold:/giu
/** The start of a line, after blanks, that GitHub treats as a command: `::…::`. */
const COLONS = /^([\s\p{DI}]*):(\p{DI}*:)/u
/** The start of a line that Buildkite treats as a group, which hides the following lines. */
const GROUP = /^(?:---|\+\+\+|~~~|\^\^\^) /

const hex = (character: string): string => {
  const code = character.charCodeAt(0).toString(16)
  return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`
}
const jsonEscape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Returns a replacer that escapes the first character of each match. */
const first =
  (escape: (character: string) => string) =>
  (found: string): string =>
    escape(found.charAt(0)) + found.slice(1)

const inert = (line: string): string =>
  line.replace(UNSEEN, hex).replace(COMMAND, first(hex)).replace(COLONS, '$1\\x3a$2')

/** Escapes a line for a terminal or a log. */
export const visible = (line: string): string => inert(line).replace(GROUP, first(hex))

/** A text of several lines, each escaped by `visible`. */
export const visibleLines = (text: string): string => text.split('\n').map(visible).join('\n')

/**
 * Escapes a unified diff. Tabs and the CR at the end of a line are kept, because patch needs them, and so are lines
 * that a log would fold.
 */
export const visiblePatch = (patch: string): string =>
  patch
    .split('\n')
    .map((line) => {
      const end = line.endsWith('\r') ? '\r' : ''
      return (
        line
          .slice(0, line.length - end.length)
          .split('\t')
          .map(inert)
          .join('\t') + end
      )
    })
    .join('\n')

/** JSON in several lines. Characters on which a log would act are escaped, which leaves the value unchanged. */
export const json = (value: unknown, replacer?: (key: string, value: unknown) => unknown): string =>
  `${JSON.stringify(value, replacer, 2).replace(MARK, jsonEscape).replace(COMMAND, first(jsonEscape))}\n`

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escapes text for XML, also for an attribute; XML cannot contain some characters at all. */
export const xml = (text: string): string =>
  visible(text)
    .toWellFormed()
    .replaceAll(/[&<>"\ufffe\uffff]/g, (character) => ENTITIES[character] ?? '\ufffd')

/** Escapes text for a SARIF message, where `[text](address)` would be a link. */
export const sarifMessage = (text: string): string => text.replace(/\[([^[\]]*\]\()/g, '\\[$1')

/** Escapes lines for the message of a GitHub workflow command. */
export const commandMessage = (lines: readonly string[]): string =>
  lines.map((line) => visible(line).replaceAll('%', '%25')).join('%0A')

/** Escapes text for a property of a GitHub workflow command. */
export const commandProperty = (text: string): string =>
  commandMessage([text]).replaceAll(':', '%3A').replaceAll(',', '%2C')

/**
 * Texts that GitHub and GitLab convert to links, mentions, references, formulas and emoji. They do so after parsing
 * Markdown, so a backslash or an entity does not prevent the conversion; a code span does.
 */
const ACTIVE = /:\/\/|\bwww\.|[@#!&$~%^]\S|:[\w+-]+:|mailto:|xmpp:/i

/** Escapes text inside a line of Markdown or a table: it cannot act as markup, HTML, link or mention. */
export const markdown = (text: string): string =>
  ACTIVE.test(text)
    ? markdownCode(text).replaceAll('|', '\\|')
    : visible(text).replaceAll(/[\\|<>*_`[\]]/g, (mark) => `\\${mark}`)

/** Text as code in Markdown. For a table, where a bar would end the cell, use `cellCode`. */
export function markdownCode(text: string): string {
  const shown = visible(text)
  const longest = shown.match(/`+/g)?.reduce((most, { length }) => Math.max(most, length), 0) ?? 0
  const ticks = '`'.repeat(longest + 1)
  const space = ticks.length > 1 ? ' ' : ''
  return `${ticks}${space}${shown}${space}${ticks}`
}

/** Text as code in a cell of a table. */
export const cellCode = (text: string): string => markdownCode(text).replaceAll('|', '\\|')
