import type { TSchema } from 'typebox'
import type { Segment } from '../rule/path.ts'
import type { Rule } from '../rule/rule.ts'

/** All we know about one Kubernetes kind. */
export interface Kind {
  readonly kind: string
  readonly plural: string
  readonly shortNames: readonly string[]
  readonly printerColumns: readonly PrinterColumn[]
  readonly schema: TSchema
  readonly rules: readonly Rule[]
  readonly parts: readonly PartPlace[]
}

/** A schema with rules of its own that lies in one or more kinds. */
export interface Part {
  readonly schema: TSchema
  readonly rules: readonly Rule[]
}

export interface PartPlace {
  readonly part: Part
  readonly at: readonly Segment[]
}

export interface PrinterColumn {
  readonly name: string
  readonly jsonPath: string
  readonly type: 'string' | 'date'
}

export const AGE: PrinterColumn = { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' }
