import { useParley } from '@parley/client/react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useDeferredValue, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { Dialog } from '../kit/dialog.tsx'
import { useSession } from '../session/session.tsx'
import type { DockState } from './dock.tsx'
import { PAGES } from './pages.ts'

type Entry = { id: string; title: string; kind: string } & ({ path: string } | { act: () => void })

type Props = { isOpen: boolean; onToggle: (isOpen: boolean) => void; dock: DockState }

const CONTACTS_MAX = 6

/** Finds pages, workflows, contacts, a run by its ID, and the phone. Ctrl+K or ⌘K opens and closes it. */
export function Palette({ isOpen, onToggle, dock }: Props) {
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      onToggle(!isOpen)
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [isOpen, onToggle])
  return isOpen ? <Search dock={dock} onClose={() => onToggle(false)} /> : null
}

function Search({ dock, onClose }: { dock: DockState; onClose: () => void }) {
  const [text, setText] = useState('')
  const [marked, setMarked] = useState(0)
  const [, go] = useLocation()
  const entries = useEntries(useDeferredValue(text.trim()), dock)
  const open = (entry: Entry) => {
    onClose()
    if ('act' in entry) entry.act()
    else go(entry.path)
  }
  const move = (event: KeyboardEvent) => {
    const entry = entries[marked]
    if (event.key === 'ArrowDown') setMarked(Math.min(marked + 1, entries.length - 1))
    else if (event.key === 'ArrowUp') setMarked(Math.max(marked - 1, 0))
    else if (event.key === 'Enter' && entry) open(entry)
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search" onClose={onClose} className="palette">
      <input
        role="combobox"
        aria-label="Search pages, workflows, contacts and runs"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={entries[marked] ? `found-${marked}` : undefined}
        data-autofocus
        maxLength={100}
        placeholder="A page, a workflow, a contact, the ID of a run"
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setMarked(0)
        }}
        onKeyDown={move}
      />
      <ul id="found" role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          <li
            key={entry.id}
            id={`found-${index}`}
            role="option"
            aria-selected={index === marked}
            onClick={() => open(entry)}
          >
            <span>{entry.title}</span> <span className="muted spread">{entry.kind}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

function useEntries(text: string, dock: DockState): Entry[] {
  const parley = useParley()
  const { workspace } = useSession()
  const isEnabled = workspace !== null && text.length >= 2
  const { data: contacts } = useQuery(
    parley.contacts.list.queryOptions(
      { q: text, limit: CONTACTS_MAX },
      { enabled: isEnabled, placeholderData: keepPreviousData },
    ),
  )
  const { data: workflows } = useQuery(parley.workflows.list.queryOptions({}, { enabled: workspace !== null }))
  const matches = (title: string) => title.toLowerCase().includes(text.toLowerCase())
  const pages = PAGES.filter(({ title }) => matches(title)).map(({ path, title }) => ({ path, title, kind: 'Page' }))
  const title = dock.isOpen ? 'Close the phone' : 'Phone: write as a customer'
  const found = [
    ...pages,
    ...(dock.toggle && matches(title) ? [{ title, kind: 'Action', act: dock.toggle }] : []),
    ...(isId(text) ? [{ path: `/runs/${text}`, title: text, kind: 'Run' }] : []),
    ...(workflows?.items ?? [])
      .filter(({ name }) => matches(name))
      .slice(0, CONTACTS_MAX)
      .map(({ id, name }) => ({ path: `/workflows/${id}`, title: name, kind: 'Workflow' })),
    ...(isEnabled ? (contacts?.items ?? []) : []).map(({ id, name }) => ({
      path: `/contacts/${id}`,
      title: name,
      kind: 'Contact',
    })),
  ]
  return found.map((entry) => ({ ...entry, id: `${entry.kind} ${'path' in entry ? entry.path : entry.title}` }))
}

function isId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
