import type { TObject } from 'typebox'
import { REPORT_SCHEMA } from '../output/report-schema.ts'
import type { ToolName } from './tools.ts'

export const OUTPUTS: Partial<Record<ToolName, TObject>> = { check: REPORT_SCHEMA }
