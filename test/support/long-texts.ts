/**
 * A program that parses texts of a megabyte: a backtracking pattern would need minutes or hours for each. It prints a
 * line after each text.
 */
import { TextDocument } from 'vscode-languageserver-textdocument'
import { parseDouble } from '../../src/cel/evaluate/doubles.ts'
import { compiledPattern } from '../../src/cel/evaluate/patterns.ts'
import { withinBudget } from '../../src/rule/budget.ts'
import { certificateBlocks } from '../../src/rule/pem.ts'
import { fits } from '../../src/cli/commands/access/flags.ts'
import { withEdits } from '../../src/cli/fix/text-edits.ts'
import { excluding } from '../../src/cli/input/files.ts'
import { quoteTemplates } from '../../src/cli/input/fill.ts'
import { ignoreComments } from '../../src/cli/input/ignore-comments.ts'
import { rangeAt } from '../../src/cli/lsp/lines.ts'
import { parseLabelSelector } from '../../src/configuration/label-selector.ts'
import { parsePolicy } from '../../src/cedar/index.ts'
import { ignoreAnnotation, ignoresIn, isFor } from '../../src/engine/ignored.ts'
import { placeholderFinder } from '../../src/documents/own-placeholders.ts'
import { problemWithPath } from '../../src/engine/settings.ts'
import { isInsideCluster, isPublicHost, remoteHost } from '../../src/rule/address.ts'
import { parseDuration } from '../../src/rule/duration.ts'
import { withoutEnd } from '../../src/rule/text-end.ts'
import { parseUrl } from '../../src/rule/url.ts'

const MEGABYTE = 1_000_000
const full = (unit: string) => unit.repeat(MEGABYTE / unit.length)

const READ: Readonly<Record<string, () => unknown>> = {
  'a host of letters': () => [
    isInsideCluster(`${full('a')}.com`),
    isPublicHost(full('a')),
    remoteHost(full('a')),
  ],
  'a host of parts': () => [isInsideCluster(full('1:')), isInsideCluster(full('svc.cluster.local.'))],
  'a scheme that does not end': () => parseUrl(full('a'))?.scheme,
  'an annotation of blanks': () => {
    const annotations = { [ignoreAnnotation('g')]: `x: y${full(' ')}!` }
    return ignoresIn({ metadata: { annotations } }, 'g').problems.length
  },
  'a comment of blanks': () =>
    ['\u2028', '\r'].map((end) => ignoreComments(`# vmcp-admission: ignore${full(' ')}x${end}y`).length),
  'a comment of many ids': () => ignoreComments(`# vmcp-admission: ignore[${full(',')}] why`).length,
  'many comments': () => ignoreComments(full('# vmcp-admission: ignore[a] why\n')).length,
  'a policy of escapes': () => parsePolicy(full('"\\')).kind,
  'a policy of comments': () =>
    [full('/*'), full('/**/'), full('//\n')].map((text) => parsePolicy(text).kind),
  'a policy of brackets': () => parsePolicy(`permit(principal, action, resource) when { ${full('(')}`).kind,
  'doubles of zeros': () => [
    parseDouble(`${full('0')}x`),
    parseDouble(`0x${full('0')}g`),
    parseDouble(full('0')),
  ],
  'a duration of many terms': () => String(parseDuration(full('0s'))),
  'a regular expression of brackets': () =>
    typeof withinBudget(() => compiledPattern(full('['), () => undefined)),
  'globs of a configuration': () =>
    isFor({ object: { name: '*a*a*a*a*a*a*a*ab' } } as never, {
      kind: '',
      namespace: '',
      name: 'a'.repeat(60),
    }),
  'globs of flags': () => [fits(['*a*a*a*a*a*a*a*ab'])(full('a')), fits(['*????b'])(full('a'))],
  'excluded files': () => excluding(['**/a*a*a*a*a*a*b', '*a*a*a*a*a*a*b'])(full('a/')),
  'placeholders of a configuration': () => {
    const find = placeholderFinder(['a*a*a*a*a*a*@', '@@*@@'])
    return [find?.(`${full('a')} @`), find?.(full('@@')), find?.(full('@@a'))?.length]
  },
  'templates in a line': () => quoteTemplates(full('k: {{a}}\v\u2028')).length,
  'the value of a line': () => {
    const text = TextDocument.create('a', 'yaml', 1, `${full(' ')}x: ${full('a ')}{`)
    return rangeAt(text, { line: 1, column: 1 }).end.character
  },
  'an edit before blanks': () =>
    withEdits(`a: b${full(' ')}c\n`, [{ op: 'set', at: ['a'], value: 'x', line: 1, column: 4 }]).text.length,
  'a path of brackets': () => problemWithPath(full('[')) === undefined,
  'a selector of commas': () => {
    try {
      return parseLabelSelector(`(${full(',')}`).matchExpressions?.length
    } catch (error) {
      return error instanceof Error && error.message.length > 0
    }
  },
  'begun certificates': () => certificateBlocks(full('-----BEGIN CERTIFICATE-----')).length,
  'zeros before another digit': () => withoutEnd(`${full('0')}1`, '0').length,
}

for (const [title, read] of Object.entries(READ))
  process.stdout.write(`${title}: ${JSON.stringify(read())}\n`)
