import type { TSchema } from 'typebox'
import type { Segment } from '../rule/index.ts'

/** A Kubernetes kind: its names, its schema, and the schemas inside it that have rules of their own. */
export interface Kind {
  readonly kind: string
  readonly plural: string
  readonly shortNames: readonly string[]
  readonly printerColumns: readonly PrinterColumn[]
  readonly schema: TSchema
  readonly parts: readonly Part[]
}

/** A schema with rules of its own, and the path at which a kind's schema contains it. */
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
