import { useParley } from '@parley/client/react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Page } from '../kit/page.tsx'
import { useRows } from '../kit/rows.ts'
import { Empty, Loaded, Problem } from '../kit/states.tsx'
import { Time } from '../kit/time.tsx'
import { useUrlState } from '../kit/url-state.ts'
import { useShortcuts } from '../kit/shortcuts.ts'
import { TableScroll } from '../kit/table-scroll.tsx'
import '../styles/contacts.css'
import { type Contact, describeMarketing, TagList } from './contact-words.tsx'

const PAGE = 50
const SEARCH_MS = 250
const SEARCH_MAX = 100

export default function ContactsPage() {
  const [q, setQ] = useUrlState('q')
  const [tag, setTag] = useUrlState('tag')
  const [groupId, setGroup] = useUrlState('group')
  const parley = useParley()
  const contacts = useInfiniteQuery(
    parley.contacts.list.infiniteQueryOptions(
      {
        limit: PAGE,
        ...(q === '' ? {} : { q }),
        ...(tag === '' ? {} : { tag }),
        ...(groupId === '' ? {} : { groupId }),
      },
      { getNextPageParam: ({ nextCursor }) => nextCursor, placeholderData: (previous) => previous },
    ),
  )
  const total = contacts.data?.pages[0]?.total
  return (
    <Page title="Contacts" aside={total !== undefined && <span className="muted">{total.toLocaleString('en')}</span>}>
      <div className="row" role="search" aria-label="Contacts">
        <Search text={q} onChange={setQ} />
        <Filters tag={tag} onTag={setTag} groupId={groupId} onGroup={setGroup} />
      </div>
      <Loaded query={contacts} height={480}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items)
          if (items.length === 0) return <Nothing isFiltered={q !== '' || tag !== '' || groupId !== ''} />
          return <ContactTable contacts={items} />
        }}
      </Loaded>
      {contacts.data && <Problem error={contacts.error} />}
      {contacts.hasNextPage && (
        <div>
          <Button disabled={contacts.isFetchingNextPage} onClick={() => void contacts.fetchNextPage()}>
            More
          </Button>
        </div>
      )}
    </Page>
  )
}

/** The search of the address, which follows what is typed after a pause. */
function Search({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const [typed, setTyped] = useState(text)
  const input = useRef<HTMLInputElement>(null)
  const latest = useRef(onChange)
  useEffect(() => {
    latest.current = onChange
  })
  useEffect(() => setTyped((current) => (current.trim() === text ? current : text)), [text])
  useEffect(() => {
    if (typed.trim() === text) return undefined
    const timer = setTimeout(() => latest.current(typed.trim()), SEARCH_MS)
    return () => clearTimeout(timer)
    // What is typed starts the pause, and not the address that follows it.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [typed])
  useShortcuts({ '/': () => input.current?.focus() })
  return (
    <input
      ref={input}
      className="contact-search"
      type="search"
      aria-label="Search contacts"
      aria-keyshortcuts="/"
      placeholder="Name, number, email or external ID"
      maxLength={SEARCH_MAX}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        // The search stays: browsers would clear it.
        event.preventDefault()
        event.currentTarget.blur()
      }}
    />
  )
}

type FilterProps = {
  tag: string
  onTag: (tag: string) => void
  groupId: string
  onGroup: (groupId: string) => void
}

function Filters({ tag, onTag, groupId, onGroup }: FilterProps) {
  const parley = useParley()
  const tags = useQuery(parley.tags.list.queryOptions())
  const groups = useQuery(parley.groups.list.queryOptions({ limit: 100 }))
  const tagNames = tags.data?.items.map(({ name }) => name) ?? []
  return (
    <>
      <select aria-label="Tag" value={tag} onChange={(event) => onTag(event.target.value)}>
        <option value="">All tags</option>
        {/* A tag of the address is shown though the tags are not yet read. */}
        {[...new Set([...tagNames, ...(tag === '' ? [] : [tag])])].map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select aria-label="Group" value={groupId} onChange={(event) => onGroup(event.target.value)}>
        <option value="">All groups</option>
        {groups.data?.items.map(({ id, name, contactCount }) => (
          <option key={id} value={id}>
            {name} ({contactCount})
          </option>
        ))}
      </select>
    </>
  )
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty
        title="No contact matches"
        action={
          <Link className="button" href="/contacts">
            Show all contacts
          </Link>
        }
      />
    )
  }
  return (
    <Empty
      title="No contacts yet"
      action={
        <Link className="button primary" href="/playground">
          Write as a customer
        </Link>
      }
    >
      Everybody who writes to you becomes a contact. Write as a customer in the playground to see one.
    </Empty>
  )
}

function ContactTable({ contacts }: { contacts: readonly Contact[] }) {
  const marked = useRows(contacts.map(({ id }) => `/contacts/${id}`))
  return (
    <TableScroll label="List of contacts" className="card contact-table">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Phone</th>
            <th scope="col">Tags</th>
            <th scope="col">Marketing</th>
            <th scope="col">Last written</th>
          </tr>
        </thead>
        <tbody>
          {contacts.map((contact, index) => (
            <tr key={contact.id} data-row={index} data-marked={index === marked || undefined}>
              <td>
                <Link href={`/contacts/${contact.id}`}>{contact.name}</Link>
                {contact.blocked && <span className="muted"> · blocked</span>}
              </td>
              <td className="nowrap">{contact.phone ?? <span className="muted">none</span>}</td>
              <td>
                <TagList tags={contact.tags} />
              </td>
              <td className="nowrap">{describeMarketing(contact.consent.marketing)}</td>
              <td className="nowrap">
                <Time at={contact.lastInboundAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  )
}
