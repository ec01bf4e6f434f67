import { type ReactNode, Suspense, useState } from 'react'
import { useLocation } from 'wouter'
import { Boundary } from '../kit/boundary.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Empty, Loading } from '../kit/states.tsx'
import { Toasts } from '../kit/toasts.tsx'
import { useSession } from '../session/session.tsx'
import { Dock, useDock } from './dock.tsx'
import { PAGES } from './pages.ts'
import { Palette } from './palette.tsx'
import { Rail } from './rail.tsx'
import { useShortcuts } from '../kit/shortcuts.ts'

/** The frame of all pages: where to go, in which workspace, and if what is shown is current. */
export function Shell({ children }: { children: ReactNode }) {
  const { workspace } = useSession()
  const [path, go] = useLocation()
  // A page that failed does not take the others with it.
  const page = path.split('/')[1]
  const [opened, setOpened] = useState<'palette' | 'shortcuts' | undefined>()
  const open = (name: typeof opened) => () => setOpened(name)
  const dock = useDock(page === 'playground')
  const { toggle, isOpen: hasDock } = dock
  const leadTo = PAGES.flatMap(({ key, path }) => (key === undefined ? [] : [[`g ${key}`, () => go(path)] as const]))
  useShortcuts({
    ...Object.fromEntries(leadTo),
    '?': open('shortcuts'),
    ...(toggle && { p: toggle }),
    ...(toggle && hasDock && { Escape: toggle }),
  })
  return (
    <div className="shell">
      <a className="button skip" href="#main">
        Skip to the page
      </a>
      <Rail onSearch={open('palette')} onHelp={open('shortcuts')} dock={dock} />
      <main id="main" tabIndex={-1}>
        <Boundary key={page}>
          <Suspense fallback={<Loading height={320} />}>
            {workspace ? children : <Empty title="No workspace">An owner can invite you to one.</Empty>}
          </Suspense>
        </Boundary>
      </main>
      <Dock {...dock} />
      <Palette
        isOpen={opened === 'palette'}
        onToggle={(isOpen) => setOpened(isOpen ? 'palette' : undefined)}
        dock={dock}
      />
      {opened === 'shortcuts' && <ShortcutList onClose={() => setOpened(undefined)} />}
      <Toasts />
    </div>
  )
}

function ShortcutList({ onClose }: { onClose: () => void }) {
  const keys = [
    ['Ctrl K or ⌘ K', 'Search'],
    ...PAGES.flatMap(({ key, title }) => (key === undefined ? [] : [[`g ${key}`, title]])),
    ['j and k', 'Next and previous row of a list'],
    ['Enter', 'Open what is marked'],
    ['f', 'Failures only'],
    ['p', 'Open or close the phone, to write as a customer'],
    ['Escape', 'Close a dialog or the phone'],
    ['?', 'Show this list'],
  ]
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="facts body">
        {keys.map(([key, title]) => (
          <div key={key} style={{ display: 'contents' }}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
