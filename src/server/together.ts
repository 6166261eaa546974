/** Characters of the bodies of one group: what is parsed of them is in memory at the same time. */
const MOST_CHARACTERS = 1024 * 1024

/**
 * Joins what comes in the same turn of the event loop into groups. The promise of a group resolves when the turn is over,
 * and awaiting it again lets the others of the group take the step that was just taken: so all of them are parsed, then
 * all judged, then all answered, each step with code and data that the one before left in the caches of the processor.
 * One that comes alone waits for nothing.
 */
export function grouping(): (characters: number) => Promise<void> {
  let group: Promise<void> | undefined
  let total = 0
  const open = () =>
    new Promise<void>((resolve) =>
      setImmediate(() => {
        group = undefined
        resolve()
      }),
    )
  return (characters) => {
    if (group === undefined || total + characters > MOST_CHARACTERS) {
      group = open()
      total = 0
    }
    total += characters
    return group
  }
}
