import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { mcpGroup } from '../../src/kinds/mcp-group/index.ts'
import { pathOf } from '../../test/e2e/cluster.ts'
import type { Excuse } from '../../test/e2e/stream.ts'
import { resourceOf } from '../../test/support/review.ts'
import { endOf, start } from './children.ts'
import type { World } from './world.ts'

/** Something bad that goes on for so many milliseconds. */
export interface Phase {
  readonly name: string
  /** Which writes through the API server may fail meanwhile. */
  readonly excuse?: Excuse
  readonly run: (world: World, length: number) => Promise<void>
}

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000]

export const PHASES: readonly Phase[] = [
  {
    name: 'API server restarted',
    excuse: (outcome) => outcome === 'no answer',
    async run({ parts }, length) {
      await parts.api.restart()
      await setTimeout(length / 2)
    },
  },
  {
    name: 'watches blackholed',
    async run(world, length) {
      const { api, proxy } = world.parts
      const name = `mark-${Math.round(performance.now())}`
      // The current findings name it for its placeholder.
      const mark = resourceOf(mcpGroup.kind, { description: '${MARK}' }, { name })
      const isKnown = async () => (await world.metrics()).includes(`name="${name}"`)
      proxy.forward('no watches')
      const { status } = await api.request('POST', pathOf(mcpGroup), mark)
      await setTimeout(length)
      if (status !== 201 || (await isKnown())) world.missed.push('watches that say nothing')
      proxy.forward('all')
      await world.until('the cache to hear of an object', isKnown)
      await api.request('DELETE', `${pathOf(mcpGroup)}/${name}`)
    },
  },
  {
    name: 'clock moved',
    async run({ parts: { clock, server }, missed }, length) {
      for (const ahead of [10 * SECOND, 3 * HOUR, -400 * DAY]) {
        writeFileSync(clock, String(ahead))
        await setTimeout(length / 4)
        // A replica that may make no certificates says that it is not ready.
        if (Math.abs(ahead) > MINUTE && (await server.isReady())) missed.push(`a clock moved by ${ahead} ms`)
      }
      writeFileSync(clock, '0')
    },
  },
  {
    name: 'disk full',
    async run(world, length) {
      const { disk } = world.parts
      if (disk === undefined) {
        world.missed.push('a disk that this user may fill')
        return
      }
      const dropped = await world.metric('vmcp_admission_log_lines_dropped_total')
      const filler = join(disk.folder, 'filler')
      try {
        writeFileSync(filler, Buffer.alloc(2 * disk.bytes))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
      await setTimeout(length)
      if ((await world.metric('vmcp_admission_log_lines_dropped_total')) === dropped)
        world.missed.push('a full disk')
      rmSync(filler)
    },
  },
  ...['slow clients', 'half-open sockets', 'TLS garbage', 'header floods'].map(badClients),
]

function badClients(name: string): Phase {
  return {
    name,
    async run({ parts: { server, seed }, connections }, length) {
      const before = connections.get(name) ?? 0
      const child = start('bad-clients.ts', server.port, name, seed + before)
      await setTimeout(length)
      connections.set(name, before + (await endOf<number>(child)))
    },
  }
}
