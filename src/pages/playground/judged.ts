import { type Plan, plansOf } from '../../access/effective-authentication.ts'
import type { Judging } from '../../cli/commands/judge-document.ts'
import { judgeAlone } from '../../cli/commands/judge-documents.ts'
import { withDefaults } from '../../cli/fix/fix-all.ts'
import type { FileDocument } from '../../cli/input/load.ts'
import { documentsIn } from '../../cli/input/texts.ts'
import { yamlValue } from '../../cli/input/yaml-nodes.ts'
import type { Report } from '../../cli/output/report.ts'
import { DEFAULT_API_GROUP } from '../../kinds/index.ts'
import type { Release } from '../../release/index.ts'
import { DEFAULT_SETTINGS, readVersion } from '../../engine/index.ts'
import { stateOf } from '../../documents/index.ts'

/** The file name that findings have in this page. */
export const FILE = 'manifests.yaml'

/** The results of judging a text of manifests. */
export interface JudgedText {
  readonly text: string
  readonly report: Report
  readonly plans: readonly Plan[]
  readonly documents: readonly FileDocument[]
  /** The text with the defaults that /mutate writes. */
  readonly completed: string
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
  return {
    text,
    report: judgeAlone(given, judging).report,
    plans: plansOf(stateOf(values, judging), undefined, readVersion(release)),
    documents,
    completed: withDefaults(texts, judging).get(FILE) ?? text,
  }
}
