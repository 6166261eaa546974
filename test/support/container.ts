import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** Megabytes that a container of the chart may take. */
export function chartMemory(): number {
  const { resources } = parse(read('deploy/helm/vmcp-admission/values.yaml')) as {
    resources: { limits: { memory: string } }
  }
  const megabytes = /^(\d+)Mi$/.exec(resources.limits.memory)?.[1]
  if (megabytes === undefined) throw new Error(`not in Mi: ${resources.limits.memory}`)
  return Number(megabytes)
}

/**
 * The environment that the Dockerfile sets. The heap's share of the memory limit becomes megabytes, because there is no
 * limit outside a container.
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
