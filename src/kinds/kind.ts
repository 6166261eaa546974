import type { TSchema } from 'typebox'
import type { Segment } from '../rule/index.ts'

/** A Kubernetes kind: its names, its schema, and the parts of the schema for which separate rules exist. */
export interface Kind {
  readonly kind: string
  readonly plural: string
  readonly shortNames: readonly string[]
  readonly printerColumns: readonly PrinterColumn[]
  readonly schema: TSchema
  readonly parts: readonly Part[]
}

/** A part of a kind's schema for which separate rules exist, such as an embedded authorization server, and its path. */
interface Part {
  readonly schema: TSchema
  readonly at: readonly Segment[]
}

export interface PrinterColumn {
  readonly name: string
  readonly jsonPath: string
  readonly type: 'string' | 'date'
}

export const AGE: PrinterColumn = { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' }
