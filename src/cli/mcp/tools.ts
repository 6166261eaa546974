/** The MCP tools: their names, descriptions and inputs. */
import { isAbsolute, relative, resolve } from 'node:path'
import Type, { type Static, type TObject, type TProperties } from 'typebox'
import { schemaProblems } from '../../configuration/schema-problems.ts'
import { parseLocation } from '../commands/role/config.ts'
import { readRevision } from '../input/git.ts'
import { OUTPUT_SCHEMAS } from '../output/schemas.ts'
import { BOUNDS } from './bounds.ts'

const text = (description: string, most = 4_096) =>
  Type.String({ description, minLength: 1, maxLength: most })
const object = <P extends TProperties>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })
const optional = Type.Optional

const MOST_NAMES = 100

const MANIFESTS = Type.String({
  description: 'The text of manifests, YAML or JSON, in the place of a file.',
  minLength: 1,
  maxLength: BOUNDS.manifests,
})
const PATHS = Type.Array(text('A file or folder.'), {
  description: 'Files and folders of manifests, below the folder in which the server was started.',
  minItems: 1,
  maxItems: MOST_NAMES,
})
const RELEASE = text('The release of the ToolHive operator that they are for, such as 0.63.', 100)
const FILES = { paths: optional(PATHS), manifests: optional(MANIFESTS), release: optional(RELEASE) }
const OLD = text('The old state: a file, a folder, or a revision of git such as git:main or git:main:deploy.')
const patterns = (description: string) =>
  Type.Array(text('A name of a role; * and ? as in a shell.'), {
    description,
    minItems: 1,
    maxItems: MOST_NAMES,
  })

const INPUTS = {
  check: object({
    ...FILES,
    strict: optional(
      Type.Boolean({ description: 'Unknown fields are errors, and placeholders are judged as they stand.' }),
    ),
  }),
  explain: object({
    about: text(
      'The id of a rule, a kind such as VirtualMCPServer, or the path of a field such as spec.incomingAuth.',
      500,
    ),
  }),
  fix: object({
    ...FILES,
    add_defaults: optional(
      Type.Boolean({ description: 'Write the documented defaults that are missing too.' }),
    ),
  }),
  plan: object({ ...FILES, old: optional(OLD) }),
  access: object({
    ...FILES,
    old: optional(OLD),
    who: optional(patterns('Who gets such a role in the one state of paths or manifests, without old.')),
    deny_new: optional(patterns('Report where somebody newly gets such a role, or that is not decided.')),
  }),
  role: object({
    path: optional(text('A file or folder with the awsSts configuration; FILE#NAME names one of several.')),
    manifests: optional(MANIFESTS),
    name: optional(text('With manifests: the name of one configuration of several.', 253)),
    claims: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.String()], {
      description: 'The claims of the caller: an object, or a JWT, whose signature is not verified.',
    }),
    release: optional(RELEASE),
  }),
} satisfies Record<string, TObject>

export type ToolName = keyof typeof INPUTS
export type Inputs = { readonly [Name in ToolName]: Static<(typeof INPUTS)[Name]> }

export interface ToolDescription {
  readonly title: string
  readonly description: string
  readonly input: TObject
  /** The schema of the result of the tool; absent when the result is only a text. */
  readonly output?: TObject
}

export const TOOLS: Readonly<Record<ToolName, ToolDescription>> = {
  check: {
    title: 'Check manifests',
    description:
      "Judge the authentication resources of ToolHive's vMCP (MCPExternalAuthConfig, VirtualMCPServer, MCPOIDCConfig, MCPServer, MCPGroup, MCPRemoteProxy, MCPServerEntry) beside each other: each finding has its place, its field, and the id of its rule, which `explain` takes.",
    input: INPUTS.check,
    output: OUTPUT_SCHEMAS.report.schema,
  },
  explain: {
    title: 'Explain a rule, a kind or a field',
    description: 'Say what the rule of a finding asks for and why, or what the fields of a kind are for.',
    input: INPUTS.explain,
  },
  fix: {
    title: 'Propose fixes',
    description: 'Give what is certainly meant as a unified diff. It writes no file.',
    input: INPUTS.fix,
    output: OUTPUT_SCHEMAS.fix.schema,
  },
  plan: {
    title: 'Show who is authenticated how',
    description:
      'Say how clients log in to each VirtualMCPServer and which credentials reach which backend; with `old`, what a change makes of it.',
    input: INPUTS.plan,
    output: OUTPUT_SCHEMAS.plan.schema,
  },
  access: {
    title: 'Compare access',
    description:
      'Say which callers get another AWS role or token exchange after a change from `old`, with an example of each; or, with `who`, who gets a role.',
    input: INPUTS.access,
    output: OUTPUT_SCHEMAS.access.schema,
  },
  role: {
    title: 'Decide the role of one caller',
    description: 'Say which AWS role a caller with these claims gets from one awsSts configuration, and why.',
    input: INPUTS.role,
    output: OUTPUT_SCHEMAS.role.schema,
  },
}

/** The problem with the arguments of a call, and what to write instead; undefined when there is none. */
export function problemWithInput(name: ToolName, input: unknown): string | undefined {
  const [problem] = schemaProblems(INPUTS[name], input, 'the arguments')
  if (problem !== undefined)
    return name === 'role' && problem.at[0] === 'claims'
      ? '\'claims\' must be an object such as {"sub": "ann"}, or the text of a JWT'
      : problem.message
  const given = input as Partial<Record<string, unknown>>
  for (const path of namedIn(given)) {
    const wrong = problemWithPath(path)
    if (wrong !== undefined) return wrong
  }
  return PROBLEMS[name]?.(given)
}

type Given = Partial<Record<string, unknown>>

/**
 * The paths in the arguments of a tool call. For `FILE#NAME` these are both the whole text and `FILE`, because a file
 * name may contain a "#".
 */
function namedIn({ paths = [], path, old }: Given): string[] {
  const config = path === undefined ? [] : [path as string, parseLocation(path as string).file]
  return [...(paths as string[]), ...(old === undefined ? [] : [old as string]), ...config]
}

function problemWithPath(written: string): string | undefined {
  const revision = written.startsWith('git:') ? readRevision(written) : undefined
  const path = revision === undefined ? written : (revision.path ?? '.')
  if (path === '-') return "'-' is not a file: give the text of manifests as 'manifests'"
  const inTree = relative('', resolve(path))
  if (!isAbsolute(inTree) && inTree.split(/[\\/]/)[0] !== '..') return undefined
  return `'${written}' is outside of ${process.cwd()}: name files below it, or give their text as 'manifests'`
}

const NEEDS_FILES = "name files or folders as 'paths', or give the text of manifests as 'manifests'"

const needsFiles = ({ paths, manifests }: Given): string | undefined =>
  paths === undefined && manifests === undefined ? NEEDS_FILES : undefined

const needsOneNew = (given: Given): string | undefined =>
  namesOf(given).length === 1
    ? undefined
    : "with 'old' name one file or folder as 'paths', or give 'manifests': the new state"

const PROBLEMS: Partial<Record<ToolName, (given: Given) => string | undefined>> = {
  check: needsFiles,
  fix: needsFiles,
  plan: (given) => (given.old === undefined ? needsFiles(given) : needsOneNew(given)),
  access: (given) => {
    const { old, who, deny_new: denied } = given
    if ((old === undefined) === (who === undefined))
      return "give 'old', to compare it with 'paths' or 'manifests', or 'who', the roles to look for"
    if (who === undefined) return needsOneNew(given)
    return denied === undefined ? needsFiles(given) : "'deny_new' is for a comparison with 'old'"
  },
  role: ({ path, manifests, name }) => {
    if ((path === undefined) === (manifests === undefined))
      return "give the configuration as 'path' or as 'manifests', one of both"
    return path !== undefined && name !== undefined
      ? "'name' is for 'manifests': write path FILE#NAME"
      : undefined
  },
}

/** The files and folders that a call of a tool names; `-` stands for the text of manifests in the call. */
export const namesOf = ({
  paths = [],
  manifests,
}: {
  readonly paths?: unknown
  readonly manifests?: unknown
}): string[] => [...(paths as string[]), ...(manifests === undefined ? [] : ['-'])]
