import { Link, useSearchParams } from 'wouter'
import { useHrefWith } from './url-state.ts'

/** Returns the chosen tab, which is the parameter `tab` of the address; the first one without it. */
export function useTab<Tab extends string>(tabs: readonly [Tab, ...Tab[]]): Tab {
  const [search] = useSearchParams()
  return tabs.find((tab) => tab === search.get('tab')) ?? tabs[0]
}

/** Links to the tabs of a page. Other parameters of the address stay. */
export function Tabs({ tabs, current, label }: { tabs: readonly [string, string][]; current: string; label: string }) {
  const toHref = useHrefWith('tab')
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(([tab, title]) => (
        <Link key={tab} href={toHref(tab)} replace aria-current={tab === current ? 'page' : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  )
}
