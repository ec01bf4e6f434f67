/** The width from which the style shows folded menus as a whole. */
const WIDE = matchMedia('(min-width: 62rem)')

/** Opens the menus on wide windows, for screen readers too, and folds them on narrow ones. */
export function foldMenus(): void {
  const fold = () => {
    for (const menu of document.querySelectorAll<HTMLDetailsElement>('.menu')) menu.open = WIDE.matches
  }
  WIDE.addEventListener('change', fold)
  fold()
}
