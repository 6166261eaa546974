import type { ServingPair } from '../certificates/serving-pair.ts'

/** A source of serving certificates. */
export interface Serving {
  /** Describes the source of the certificates in the text that the server prints at its start. */
  readonly source: string
  /** The first certificate; later ones come through `onNext`. Rejects with an Error when there is none in time. */
  first(): Promise<ServingPair>
  /** Registers a callback for each certificate after the first. */
  onNext(use: (pair: ServingPair) => void): void
  /** The CAs (PEM) to write into the webhook configurations; undefined when another component injects them. */
  caBundle(): string | undefined
  /** Receives the caBundle (PEM) of each entry in both webhook configurations, as currently stored. */
  observe(caBundles: readonly string[]): void
  /**
   * Whether API servers can trust the serving certificate. For a self-managed CA: true from the time at which
   * `observe` received this CA in every caBundle, or not a single caBundle. For other sources: always true.
   */
  isTrusted(): boolean
  /** The problem while the clock is too wrong for signing certificates; undefined also if this replica signs none. */
  clockProblem(): string | undefined
  /** The state of the source, for metrics. */
  state(): ServingState
}

/** The state of a certificate source; all times are Unix milliseconds. */
export interface ServingState {
  readonly expiry: Readonly<Record<'leaf' | 'ca' | 'bundle', number | undefined>>
  readonly rotations: number
  readonly errors: number
}
