import { element } from './dom.ts'

const KEY = 'vmcp-admission-theme'

/** Starts the button for light and dark; until it is used, the setting of the system applies. */
export function startTheme(): void {
  const button = element('theme', HTMLButtonElement)
  const system = matchMedia('(prefers-color-scheme: dark)')
  const { dataset } = document.documentElement
  const isDark = () => (dataset.theme ?? (system.matches ? 'dark' : 'light')) === 'dark'
  const show = () => {
    button.setAttribute('aria-pressed', String(isDark()))
  }
  const kept = stored()
  if (kept !== null) dataset.theme = kept
  show()
  system.addEventListener('change', show)
  button.addEventListener('click', () => {
    dataset.theme = isDark() ? 'light' : 'dark'
    show()
    try {
      localStorage.setItem(KEY, dataset.theme)
    } catch {
      // A browser may forbid storage, for example in pages from files.
    }
  })
}

function stored(): string | null {
  try {
    const kept = localStorage.getItem(KEY)
    return kept === 'light' || kept === 'dark' ? kept : null
  } catch {
    return null
  }
}
