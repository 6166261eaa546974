type Touch = (path: readonly string[]) => void

/** A proxy of the value that calls `touch` with the path of each field that is read or tested for. */
export function recording<T extends object>(value: T, touch: Touch, at: readonly string[] = []): T {
  const tell = (field: string | symbol) => {
    if (typeof field === 'string') touch([...at, field])
  }
  return new Proxy(value, {
    get(target, field) {
      tell(field)
      const found: unknown = Reflect.get(target, field)
      const isPart = typeof found === 'object' && found !== null && typeof field === 'string'
      return isPart ? recording(found, touch, [...at, field]) : found
    },
    has(target, field) {
      tell(field)
      return Reflect.has(target, field)
    },
    getOwnPropertyDescriptor(target, field) {
      tell(field)
      return Reflect.getOwnPropertyDescriptor(target, field)
    },
  })
}
