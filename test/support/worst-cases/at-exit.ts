// Loaded into a process before the command: writes what the whole process took, with its own children, when it ends.
import { readFileSync, writeFileSync } from 'node:fs'

process.on('exit', () => {
  const path = process.env.USAGE_FILE
  if (path === undefined) return
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  let children = 0
  try {
    // The times of its children in proc(5), in hundredths of a second.
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    children = (Number(fields[13]) + Number(fields[14])) * 10
  } catch {
    // Not Linux: no child is counted.
  }
  writeFileSync(
    path,
    JSON.stringify({ cpuMs: (userCPUTime + systemCPUTime) / 1_000 + children, maxBytes: maxRSS * 1_024 }),
  )
})
