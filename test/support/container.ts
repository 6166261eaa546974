import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** The memory limit of the chart's container, in megabytes. */
export function chartMemory(): number {
  const { resources } = parse(read('deploy/helm/vmcp-admission/values.yaml')) as {
    resources: { limits: { memory: string } }
  }
  const megabytes = /^(\d+)Mi$/.exec(resources.limits.memory)?.[1]
  if (megabytes === undefined) throw new Error(`not in Mi: ${resources.limits.memory}`)
  return Number(megabytes)
}

/**
 * The environment that the Dockerfile sets. The heap size there is a share of the memory limit; here it is in
 * megabytes, because a process outside a container has no memory limit.
 */
export function containerEnvironment(): Record<string, string> {
  const [, assignments] = /^ENV ((?:.*\\\n)*.*)$/m.exec(read('Dockerfile')) ?? []
  if (assignments === undefined) throw new Error('the Dockerfile has no ENV')
  const pairs = assignments.matchAll(/(\w+)=(?:"([^"]*)"|(\S+))/g)
  const heap = (_: string, share: string) =>
    `--max-old-space-size=${Math.floor((chartMemory() * Number(share)) / 100)}`
  return Object.fromEntries(
    [...pairs].map(([, name = '', quoted, plain = '']) => {
      const value = quoted ?? plain
      return [name, value.replace(/--max-old-space-size-percentage=(\d+)/, heap)]
    }),
  )
}
