import { UsageError } from '../configuration/flags.ts'

export function explain(args: readonly string[]): number {
  throw new UsageError(`not yet ${args.length}`)
}
