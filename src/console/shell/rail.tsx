import { useParleyEvents } from '@parley/client/react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Button } from '../kit/button.tsx'
import { readStored, store } from '../kit/storage.ts'
import { useSession } from '../session/session.tsx'
import type { DockState } from './dock.tsx'
import { PAGES } from './pages.ts'

const KEY = 'parley theme'
const THEMES = ['system', 'light', 'dark'] as const

/** Changes between the theme of the system, light and dark. `public/theme.js` applies the choice before the first paint. */
function ThemeButton() {
  const [theme, setTheme] = useState(() => THEMES.find((known) => known === readStored(KEY)) ?? 'system')
  const change = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
    store(KEY, next === 'system' ? null : next)
    if (next === 'system') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = next
    setTheme(next)
  }
  return (
    <Button kind="quiet" small onClick={change}>
      Theme: {theme}
    </Button>
  )
}

/** The workspace, the pages, and the state of the connection. */
export function Rail({ onSearch, onHelp, dock }: { onSearch: () => void; onHelp: () => void; dock: DockState }) {
  const { identity, workspace, choose, signOut } = useSession()
  const [current] = useLocation()
  return (
    <header className="rail">
      <div className="brand wide">
        <img src="/console/icon.svg" alt="" width="22" height="22" /> Parley
      </div>
      <label className="workspace">
        <span className="visually-hidden">Workspace</span>
        <select value={workspace?.id ?? ''} onChange={(event) => choose(event.target.value)}>
          {identity?.workspaces.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <Button small onClick={onSearch} aria-keyshortcuts="Control+K Meta+K">
        Search <kbd className="wide">Ctrl K</kbd>
      </Button>
      <Button
        small
        disabled={dock.toggle === undefined}
        onClick={dock.toggle}
        aria-pressed={dock.isOpen}
        aria-keyshortcuts="p"
        title={dock.toggle ? 'Write as a customer beside this page' : 'This page has the phone'}
      >
        Phone <kbd className="wide">p</kbd>
      </Button>
      <nav aria-label="Pages">
        {PAGES.map(({ path, title }) => (
          <Link key={path} href={path} aria-current={current.startsWith(path) ? 'page' : undefined}>
            {title}
          </Link>
        ))}
        <a href="/docs">API</a>
      </nav>
      <div className="foot">
        <LiveBadge />
        <span className="wide">
          <Button kind="quiet" small onClick={onHelp} aria-keyshortcuts="?">
            Shortcuts <kbd>?</kbd>
          </Button>
        </span>
        <span className="wide">
          <ThemeButton />
        </span>
        <Button kind="quiet" small onClick={() => void signOut()} title={identity?.user.email}>
          Sign out
        </Button>
      </div>
    </header>
  )
}

/** Says if what the page shows is kept current. */
function LiveBadge() {
  const { refresh } = useSession()
  const [state, setState] = useState<'live' | 'connecting'>('connecting')
  // The session or the membership has ended: the sign-in or another workspace is shown at the same address.
  useParleyEvents({
    onState: setState,
    onError: (error) => [401, 403].includes(error.data?.httpStatus ?? 0) && void refresh().catch(() => undefined),
  })
  return (
    <span className={`status ${state === 'live' ? 'tone-good' : 'tone-warn'}`} role="status">
      {state === 'live' ? 'Live' : 'Connecting'}
    </span>
  )
}
