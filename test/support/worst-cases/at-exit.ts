// Preloaded into a command's process: when the process ends, it writes the CPU time and memory of itself and its
// children to a file.
import { readFileSync, writeFileSync } from 'node:fs'

process.on('exit', () => {
  const path = process.env.USAGE_FILE
  if (path === undefined) return
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  let children = 0
  try {
    // The CPU time of the children in /proc/self/stat, in hundredths of a second (proc(5)).
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    children = (Number(fields[13]) + Number(fields[14])) * 10
  } catch {
    // Without /proc (not Linux), children are not counted.
  }
  writeFileSync(
    path,
    JSON.stringify({ cpuMs: (userCPUTime + systemCPUTime) / 1_000 + children, maxBytes: maxRSS * 1_024 }),
  )
})
