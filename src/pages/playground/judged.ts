import { type Plan, plansOf } from '../../access/effective-authentication.ts'
import { type CallerTokens, callerTokensOf } from '../../access/role/caller-tokens.ts'
import type { Judging } from '../../cli/commands/judge-document.ts'
import { judgeAlone } from '../../cli/commands/judge-documents.ts'
import { withDefaults } from '../../cli/fix/fix-all.ts'
import { documentsIn } from '../../cli/input/texts.ts'
import { yamlValue } from '../../cli/input/yaml-nodes.ts'
import type { Report } from '../../cli/output/report.ts'
import { DEFAULT_API_GROUP } from '../../kinds/index.ts'
import { mcpExternalAuthConfig } from '../../kinds/mcp-external-auth-config/index.ts'
import { NEWEST_RELEASE, type Release } from '../../release/index.ts'
import { isObject } from '../../rule/index.ts'
import { DEFAULT_SETTINGS, readVersion } from '../../engine/index.ts'
import { kindOf, nameOf, namespaceOf, stateOf } from '../../documents/index.ts'

/** The file name that findings have in this page. */
export const FILE = 'manifests.yaml'

/** The results of judging a text of manifests. */
export interface JudgedText {
  readonly text: string
  readonly report: Report
  readonly plans: readonly Plan[]
  readonly configs: readonly AwsConfig[]
  /** The text with the defaults that /mutate writes. */
  readonly completed: string
}

/** An MCPExternalAuthConfig of the type awsSts in the text. */
export interface AwsConfig {
  /** Differs from the keys of all others in the text, and stays the same while the text around it changes. */
  readonly key: string
  /** The name as users see it, with the namespace when the configurations of the text are in several. */
  readonly name: string
  readonly value: unknown
  /** The tokens that its callers can have, judged by the other objects of the text. */
  tokens(): CallerTokens
}

/** Judges a text as the command `check` judges a file with this text. */
export function judgeText(text: string, release: Release | undefined): JudgedText {
  const judging: Judging = {
    group: DEFAULT_API_GROUP,
    namespace: 'default',
    strict: false,
    settings: DEFAULT_SETTINGS,
    release,
    readYaml: yamlValue,
  }
  const { documents, unread } = documentsIn(FILE, text, new Map())
  const texts = new Map([[FILE, text]])
  const given = { files: [FILE], texts, documents, notJudged: [], unread: [...unread], empty: [] }
  const values = documents.map(({ document }) => document.value)
  const version = readVersion(release)
  const state = stateOf(values, judging)
  return {
    text,
    report: judgeAlone(given, judging).report,
    plans: plansOf(state, undefined, version),
    configs: configsIn(values, judging, state, version ?? NEWEST_RELEASE),
    completed: withDefaults(texts, judging).get(FILE) ?? text,
  }
}

function configsIn(
  values: readonly unknown[],
  judging: Judging,
  state: ReturnType<typeof stateOf>,
  version: string,
): AwsConfig[] {
  const found = values.flatMap((value) => {
    if (kindOf(value, judging) !== mcpExternalAuthConfig || !isObject(value)) return []
    if (!isObject(value.spec) || value.spec.type !== 'awsSts') return []
    return [{ value, name: nameOf(value), namespace: namespaceOf(value, judging) }]
  })
  const hasSeveral = new Set(found.map(({ namespace }) => namespace)).size > 1
  const counts = new Map<string, number>()
  return found.map(({ value, name, namespace }) => {
    const place = `${namespace}/${name}`
    const count = (counts.get(place) ?? 0) + 1
    counts.set(place, count)
    const shown = name === '' ? 'without a name' : name
    return {
      key: `${place} ${count}`,
      name: hasSeveral ? `${namespace}/${shown}` : shown,
      value,
      tokens: () => callerTokensOf(name, state.in(namespace, version)),
    }
  })
}
