import type { GeneratedFile } from './generated-file.ts'
import { chart } from './chart.ts'
import { coveragePage } from './coverage-page.ts'
import { crds } from './crds.ts'
import { failuresPage } from './failures-page.ts'
import { flagsPage } from './flags-page.ts'
import { fieldsPage } from './fields-page.ts'
import { knownFieldsModule } from './known-fields.ts'
import { jsonSchemas } from './json-schemas.ts'
import { outputSchemas } from './output-schemas.ts'
import { manualPage } from './manual-page.ts'
import { mutatingPolicies } from './mutating-policies.ts'
import { policies } from './policies.ts'
import { policiesPage } from './policies-page.ts'
import { rbac } from './rbac.ts'
import { rulesPages } from './rules-pages.ts'
import { staticWebhooks } from './static-webhooks.ts'
import { validatorsModule } from './validators.ts'

/** All generated files of the repository, with their current content. */
export function* generatedFiles(): Iterable<GeneratedFile> {
  yield { path: 'src/shape/generated/validators.js', text: validatorsModule() }
  yield knownFieldsModule()
  yield* jsonSchemas()
  yield* outputSchemas()
  yield* crds()
  yield* rbac()
  yield* chart()
  yield staticWebhooks()
  yield* policies()
  yield* mutatingPolicies()
  yield* rulesPages()
  yield failuresPage()
  yield fieldsPage()
  yield flagsPage()
  yield manualPage()
  yield coveragePage()
  yield policiesPage()
}
