import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** Megabytes that a container of the chart may take. */
export function memoryLimit(): number {
  const { resources } = parse(read('deploy/helm/vmcp-admission/values.yaml')) as {
    resources: { limits: { memory: string } }
  }
  const megabytes = /^(\d+)Mi$/.exec(resources.limits.memory)?.[1]
  if (megabytes === undefined) throw new Error(`not in Mi: ${resources.limits.memory}`)
  return Number(megabytes)
}

/** Node's options in the image, with the share of the memory limit as megabytes: outside a container there is no limit. */
export function nodeOptions(): string {
  const options = /NODE_OPTIONS="([^"]*)"/.exec(read('Dockerfile'))?.[1]
  if (options === undefined) throw new Error('the Dockerfile sets no NODE_OPTIONS')
  return options.replace(
    /--max-old-space-size-percentage=(\d+)/,
    (_, share) => `--max-old-space-size=${Math.floor((memoryLimit() * Number(share)) / 100)}`,
  )
}
