import { Counter, Gauge, type Registry } from 'prom-client'

type Read = () => number | undefined

/** Adds a gauge that reads its value at each scrape; there is no sample while the value is undefined. */
export function measureGauge(registry: Registry, name: string, help: string, read: Read): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      const value = read()
      if (value === undefined) this.remove()
      else this.set(value)
    },
  })
}

/** Adds a counter for a number that other code counts since the start of the process. */
export function measureCounter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}
