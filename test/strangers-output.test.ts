/**
 * Text in untrusted manifests must stay readable in every output, but must not act as a command of a CI system or as a
 * terminal control sequence.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { spawnCli } from './support/cli.ts'

t.setTimeout(600_000)

/** A syntax to which a CI system or terminal reacts: an example, and whether a line of output contains it. */
interface Syntax {
  readonly of: string
  readonly text: string
  readonly acts: (line: string) => boolean
}

/** The line as .NET compares it: without characters that are not displayed. */
const seen = (line: string) => line.replaceAll(/\p{DI}/gu, '')
const isGitHub = (line: string) => seen(line).trimStart().startsWith('::')
const isLegacy = (line: string) => /##\p{L}*\[/u.test(seen(line))
const SYNTAXES: readonly Syntax[] = [
  { of: 'GitHub', text: '::stop-commands::x', acts: isGitHub },
  { of: 'GitHub, behind blanks', text: ' \u3000 ::add-mask::x', acts: isGitHub },
  { of: 'GitHub, between hidden characters', text: '\u200b:\u00ad:add-mask::x', acts: isGitHub },
  { of: 'GitHub, escaped', text: 'x%0A::add-mask::x', acts: isGitHub },
  { of: 'GitHub, behind CR', text: 'x\r::add-mask::x', acts: isGitHub },
  { of: 'GitHub before 2019', text: 'x ##[add-mask]x', acts: isLegacy },
  { of: 'Azure', text: 'x ##vso[task.setvariable variable=x]y', acts: isLegacy },
  { of: 'Azure, between hidden characters', text: '#\u00ad#vs\u200do[task.prependpath]x', acts: isLegacy },
  { of: 'Azure, formats', text: '##[section]x', acts: isLegacy },
  { of: 'TeamCity', text: "##teamcity[buildStatus text='x']", acts: isLegacy },
  { of: 'GitLab', text: 'section_start:1:x\r\u001b[0Kx', acts: (line) => line.includes('\u001b') },
  { of: 'Travis', text: 'travis_fold:start:x\r', acts: (line) => line.includes('travis_fold:') },
  { of: 'Buildkite', text: '--- x', acts: (line) => /^(?:---|\+\+\+|~~~|\^\^\^) /.test(line) },
  { of: 'Buildkite, shown', text: '+++ x', acts: (line) => line.startsWith('+++ ') },
  { of: 'Buildkite, the group before', text: '^^^ +++ x', acts: (line) => line.startsWith('^^^ ') },
  { of: 'Jenkins', text: 'x\u001b[8mha:AAAA\u001b[0m', acts: (line) => line.includes('\u001b') },
  {
    of: 'a terminal',
    text: 'a\u001b[2J\u009b1A\u0007\u2028b\u202ec\u2066d\u061ce',
    acts: (line) =>
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/.test(line),
  },
]

const API = 'apiVersion: toolhive.stacklok.dev/v1beta1'
const NARROW = 40

/** The text for a plain YAML scalar, without the characters that are allowed only in quotes. */
const inYaml = (text: string) => text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028]/g, ' ')

/** The text in double quotes; characters that YAML allows only as escapes are escaped. */
const inQuotes = (text: string) =>
  JSON.stringify(text).replaceAll(
    /[\u007f-\u009f]/g,
    (character) => `\\x${character.charCodeAt(0).toString(16)}`,
  )

/** Manifests with the text in every place: names, namespaces, keys, values, comments and placeholders. */
function resources(text: string, role: string): string {
  const quoted = inQuotes(text)
  const plain = inYaml(text).trim()
  // The values have different lengths, so that the output wraps the text at different places.
  const values = Array.from({ length: NARROW }, (_, i) => inQuotes(`${'x'.repeat(i)} ${text}`))
  return [
    `${API}
kind: MCPExternalAuthConfig
# ${plain}
metadata: { name: ${quoted} }
spec:
  type: awsSts
  awsSts:
    region: eu-central-1
    roleClaim: ${quoted}
    fallbackRoleArn: arn:aws:iam::123456789012:role/${role}
    roleMappings:
      - { claim: ${quoted}, roleArn: 'arn:aws:iam::123456789012:role/${role}' }
      - { matcher: ${inQuotes(`"${plain}" in claims.x`)}, roleArn: 'arn:aws:iam::123456789012:role/m' }`,
    `${API}
kind: MCPExternalAuthConfig
metadata: { name: values, namespace: ${quoted} }
spec:
  type: awsSts
  ${quoted}: ${quoted}
  awsSts:
    region: ${quoted}
    # vmcp-admission: ignore[${plain.replaceAll(']', ')')}] ${plain}
    sessionNameClaim: ${inQuotes(`{{ ${text} }}`)}
    roleMappings:
${values.map((value) => `      - { claim: a, roleArn: ${value} }`).join('\n')}`,
    `${API}
kind: VirtualMCPServer
metadata: { name: ${quoted} }
spec:
  groupRef: { name: ${quoted} }
  incomingAuth: { type: oidc, oidcConfigRef: { name: ${quoted}, audience: ${inQuotes(text + role)} } }
  outgoingAuth:
    source: inline
    backends:
      ${quoted}: { type: externalAuthConfigRef, externalAuthConfigRef: { name: ${quoted} } }`,
    `${API}\nkind: MCPOIDCConfig\nmetadata: { name: ${quoted} }\nspec: { type: inline, inline: { issuer: ${inQuotes(`https://idp.example.com/${text}`)} } }`,
    `${API}\nkind: MCPGroup\nmetadata: { name: ${quoted} }\nspec: {}`,
    `${API}\nkind: ${quoted}\nmetadata: { name: ${quoted} }`,
  ].join('\n---\n')
}

/** A manifest that `fix` changes, with the text next to the change. */
const fixable = (text: string) =>
  `apiVersion: toolhive.stacklok.dev/v1alpha1\nkind: MCPGroup\n#${inYaml(text)}\n${/^\p{DI}*::/u.test(text) ? `${text}: x\n` : ''}metadata: { name: a }\n`

const folder = t.testdir({})
for (const [i, { text }] of SYNTAXES.entries()) {
  const files = {
    [`all/${text.replaceAll('/', '-')}.yaml`]: resources(text, 'old'),
    [`broken/${text.replaceAll('/', '-')}.yaml`]: `a: [\n${JSON.stringify(text)}`,
    [`broken/${i}.json`]: `{ ${JSON.stringify(text)}: [ ]\n${text}`,
    [`fix/${text.replaceAll('/', '-')}.yaml`]: fixable(text),
    [`old/${i}.yaml`]: resources(text, 'old'),
    [`new/${i}.yaml`]: resources(text, 'new'),
    [`settings/${i}.yaml`]: `${JSON.stringify(text)}: ${JSON.stringify(text)}\nprofile: ${JSON.stringify(text)}\n`,
  }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
}
writeFileSync(
  join(folder, 'audit.log'),
  SYNTAXES.map(({ text }) =>
    JSON.stringify({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Request',
      stage: 'ResponseComplete',
      verb: 'create',
      user: { username: text },
      objectRef: {
        apiGroup: 'toolhive.stacklok.dev',
        apiVersion: 'v1beta1',
        resource: 'mcpexternalauthconfigs',
        namespace: text,
        name: text,
      },
      requestObject: {
        apiVersion: 'toolhive.stacklok.dev/v1beta1',
        kind: 'MCPExternalAuthConfig',
        metadata: { name: text, namespace: text },
        spec: { type: text },
      },
      responseStatus: { code: 201 },
      requestReceivedTimestamp: text,
    }),
  ).join('\n'),
)

const outputs = (command: string[], names: readonly string[]) =>
  names.map((name) => [...command, '--output', name])
const RUNS: readonly (readonly string[])[] = [
  ...outputs(
    ['check', '.'],
    ['human', 'line', 'json', 'sarif', 'github', 'gitlab', 'junit', 'openreports'],
  ).map((args) => [...args, '--advice', '--show-ignored']),
  ...outputs(['probe', '--yes', '.'], ['human', 'github', 'gitlab']),
  ['probe', '--list', '.'],
  ...outputs(['plan', '.'], ['human', 'json', 'mermaid']),
  ...outputs(['plan', '../old', '../new'], ['human', 'markdown']),
  ...outputs(['access', '../old', '../new'], ['human', 'markdown', 'json', 'sarif']),
  ...outputs(['access', '--who', '*', '.'], ['human', 'markdown', 'json']),
  ...outputs(['steps', '../old', '../new'], ['human', 'markdown', 'json']),
  ...outputs(['replay', '../audit.log'], ['human', 'json']),
  ['check', '../broken'],
  ['check', '--output', 'github', '../broken'],
  ['fix', '../broken'],
  ...outputs(['fix', '../fix'], ['human', 'json']),
  ...SYNTAXES.flatMap(({ text }, i) => [
    ...(i % 4 === 0 ? [['check', text], [text], ['explain', text]] : []),
    ...(i % 4 === 0 ? [['check', '--config-file', `../settings/${i}.yaml`, '.']] : []),
  ]),
]

/** Whether these arguments cause a usage error, whose message quotes them. */
const isUsage = ([command = '', argument = '']: readonly string[]): boolean =>
  SYNTAXES.some(({ text }) => command === text || (command === 'explain' && argument === text)) ||
  argument.startsWith('--- ') ||
  argument === '--config-file'

/** Lines that the command writes itself: workflow commands of `--output github`, and the headers of a diff. */
const isOurs = (line: string, args: readonly string[]) =>
  (args.includes('github') && /^::(?:error|warning|notice) (?:[a-z]+=[^:,]*,?)+::/.test(line)) ||
  (args[0] === 'fix' && /^(?:--- "?a|\+\+\+ "?b)\//.test(line))

t.test('no output of a command is a command of a CI or of a terminal', async (t) => {
  const waiting = [...RUNS]
  const work = async () => {
    for (let args = waiting.shift(); args !== undefined; args = waiting.shift()) {
      const title = args.filter((arg) => /^[\w./-]+$/.test(arg)).join(' ')
      const { stdout, stderr, status } = await spawnCli(args, {
        cwd: join(folder, 'all'),
        environment: { COLUMNS: String(NARROW) },
      })
      t.not(stdout + stderr, '', title)
      t.notMatch(stderr, /\n {4}at /, title)
      t.equal(status === 2, isUsage(args), `${title}: ${stderr.slice(0, 200)}`)
      if (!isUsage(args) && !/fix|--list|broken|check$/.test(title)) t.match(stdout, /add-mask|broken/, title)
      for (const line of `${stdout}\n${stderr}`.split(/\r\n|[\n\r]/)) {
        const of = SYNTAXES.find(({ acts }) => acts(line))?.of
        if (of !== undefined && !(isOurs(line, args) && /^Git|^Build/.test(of)))
          t.fail(`${title}: ${of}: ${JSON.stringify(line)}`)
      }
      t.notMatch(stdout + stderr, /\r(?!\n)/, title)
    }
  }
  await Promise.all([work(), work()])
})
