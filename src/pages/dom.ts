type Attribute = string | number | boolean | ((event: Event) => void) | undefined
export type Child = Node | string | undefined | readonly Child[]

const SVG = 'http://www.w3.org/2000/svg'

/**
 * Creates an HTML element. A function becomes a listener (`onclick`), `true` an attribute without a value; `false` and
 * undefined are skipped.
 */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, Attribute>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children)
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, Attribute>> = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS(SVG, tag), attributes, children)
}

function filled<E extends Element>(
  element: E,
  attributes: Readonly<Record<string, Attribute>>,
  children: readonly Child[],
): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value))
  }
  element.append(...nodesOf(children))
  return element
}

const nodesOf = (children: readonly Child[]): (Node | string)[] =>
  children.flatMap((child) =>
    child === undefined ? [] : typeof child === 'string' || child instanceof Node ? [child] : nodesOf(child),
  )

/** The element of the page with this id. Throws an Error when the page has no such element of the type. */
export function element<Type extends HTMLElement>(id: string, type: new () => Type): Type {
  const found = document.getElementById(id)
  if (found instanceof type) return found
  throw new Error(`the page has no ${type.name} #${id}`)
}

/** The JSON in the data block with this id in the page. */
export const dataOf = (id: string): unknown => JSON.parse(document.getElementById(id)?.textContent ?? 'null')

/** The longest word, in characters, that is never broken. */
const LONGEST_WORD = 16

/** Splits a text so that long words, such as paths and ARNs, may break after punctuation or before a capital. */
export const breakable = (text: string): Child[] =>
  text.split(/(?<=\s)/).flatMap((word) => {
    if (word.length <= LONGEST_WORD) return [word]
    return word
      .split(/(?<=[./:@_-])(?=\S{4})|(?<=[a-z])(?=[A-Z][a-z]{3})/)
      .flatMap((part, i) => (i === 0 ? [part] : [h('wbr'), part]))
  })

/** Splits a text so that the parts between backticks become code. */
export const prose = (text: string): Child[] =>
  text.split('`').map((part, i) => (i % 2 === 0 ? part : h('code', {}, part)))
