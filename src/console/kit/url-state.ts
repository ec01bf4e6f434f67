import { useLocation, useSearchParams } from 'wouter'

/** A value that is a parameter of the address; an empty one is left out. Changes replace the entry of the history. */
export function useUrlState(name: string): [string, (value: string) => void] {
  const [search, setSearch] = useSearchParams()
  const set = (value: string) =>
    setSearch(
      (current) => {
        const changed = new URLSearchParams(current)
        if (value === '') changed.delete(name)
        else changed.set(name, value)
        return changed
      },
      { replace: true },
    )
  return [search.get(name) ?? '', set]
}

/** Returns the address of this page with another value of a parameter, for links. An empty value is left out. */
export function useHrefWith(name: string): (value: string) => string {
  const [path] = useLocation()
  const [search] = useSearchParams()
  return (value) => {
    const changed = new URLSearchParams(search)
    if (value === '') changed.delete(name)
    else changed.set(name, value)
    return changed.size === 0 ? path : `${path}?${changed}`
  }
}
