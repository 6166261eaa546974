import type { ServingPair } from '../certificates/serving-pair.ts'

/** The serving certificate, wherever it comes from. */
export interface Serving {
  /** Where the pair comes from, for the person at the terminal. */
  readonly source: string
  /** Waits for the first pair; later ones come through `onNext`. Rejects with an Error when none comes in time. */
  first(): Promise<ServingPair>
  /** Calls back with each pair after the first. */
  onNext(use: (pair: ServingPair) => void): void
  /** PEM of the CAs to write into the webhook configurations; undefined when something else injects them. */
  caBundle(): string | undefined
  /** Takes the caBundle (PEM) of each entry of both webhook configurations as they are stored now. */
  observe(caBundles: readonly string[]): void
  /** Whether both webhook configurations carry, or once carried, the CA of the serving certificate. */
  isTrusted(): boolean
  /** Why the clock of this replica may make no certificate; undefined when it may, or makes none. */
  clockProblem(): string | undefined
  /** For metrics. */
  state(): ServingState
}

/** Times are Unix milliseconds. */
export interface ServingState {
  readonly expiry: Readonly<Record<'leaf' | 'ca' | 'bundle', number | undefined>>
  readonly rotations: number
  readonly errors: number
}
