/** Characters of the bodies of one group: what is parsed of them is in memory at the same time. */
const MOST_CHARACTERS = 1024 * 1024

interface Group {
  characters: number
  size: number
  isClosed: boolean
  readonly gathered: Promise<void>
}

/**
 * Joins what comes in the same turn of the event loop into groups. The promise of a group resolves when the turn is over,
 * and awaiting it again lets the others of the group take the step that was just taken: so all of them are parsed, then
 * all judged, then all answered, each step with code and data that the one before left in the caches of the processor.
 * One that comes alone waits for nothing; several wait one turn more for those of which a part has come.
 */
export function grouping(): (characters: number) => Promise<void> {
  let latest: Group | undefined
  return (characters) => {
    if (latest !== undefined && latest.characters + characters > MOST_CHARACTERS) latest.isClosed = true
    if (latest === undefined || latest.isClosed) latest = openGroup()
    latest.characters += characters
    latest.size += 1
    return latest.gathered
  }
}

function openGroup(): Group {
  const group: Group = {
    characters: 0,
    size: 0,
    isClosed: false,
    gathered: new Promise((resolve) => {
      const close = () => {
        group.isClosed = true
        resolve()
      }
      setImmediate(() => (group.size === 1 || group.isClosed ? close() : setImmediate(close)))
    }),
  }
  return group
}
