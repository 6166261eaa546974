import type { ServingPair } from '../certificates/serving-pair.ts'

/** A source of the serving certificate. */
export interface Serving {
  /** The source in words, for the person at the terminal. */
  readonly source: string
  /** The first pair; later ones come through `onNext`. Rejects with an Error when none comes in time. */
  first(): Promise<ServingPair>
  /** Calls back with each pair after the first. */
  onNext(use: (pair: ServingPair) => void): void
  /** The CAs (PEM) to write into the webhook configurations; undefined when another component injects them. */
  caBundle(): string | undefined
  /** To be called with the caBundle (PEM) of each entry of both webhook configurations, as they are stored now. */
  observe(caBundles: readonly string[]): void
  /** Whether both webhook configurations have, or once had, the CA of the serving certificate. */
  isTrusted(): boolean
  /** Why the clock of this replica is too wrong to sign certificates; undefined when it is right, or signs none. */
  clockProblem(): string | undefined
  /** The state for metrics. */
  state(): ServingState
}

/** The state of a certificate source; times are Unix milliseconds. */
export interface ServingState {
  readonly expiry: Readonly<Record<'leaf' | 'ca' | 'bundle', number | undefined>>
  readonly rotations: number
  readonly errors: number
}
