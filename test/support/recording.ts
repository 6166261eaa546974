type Touch = (path: readonly string[]) => void

/** The same value, which tells the path of every field that is looked at or asked for. */
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

/** An object that has every field: each holds another such object, or a text where it is the key of an annotation. */
export const EVERYTHING: object = new Proxy(
  {},
  {
    get: (_, field) => (String(field).includes('/') ? 'text' : EVERYTHING),
    ownKeys: () => ['*'],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, writable: true }),
  },
)
