/** Starts tabs that follow the ARIA pattern: arrow keys move between tabs, the Tab key moves into the panel. */
export function startTabs(list: HTMLElement): void {
  const tabs = [...list.querySelectorAll<HTMLButtonElement>('[role=tab]')]
  const select = (chosen: HTMLButtonElement) => {
    for (const tab of tabs) {
      const isChosen = tab === chosen
      tab.setAttribute('aria-selected', String(isChosen))
      tab.tabIndex = isChosen ? 0 : -1
      const panel = document.getElementById(tab.getAttribute('aria-controls') ?? '')
      if (panel !== null) panel.hidden = !isChosen
    }
  }
  for (const [i, tab] of tabs.entries()) {
    tab.addEventListener('click', () => {
      select(tab)
    })
    tab.addEventListener('keydown', (event) => {
      const step = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: -1 }[event.key]
      const next = step === undefined ? undefined : tabs.at(step % tabs.length)
      if (next === undefined) return
      event.preventDefault()
      select(next)
      next.focus()
    })
  }
}
