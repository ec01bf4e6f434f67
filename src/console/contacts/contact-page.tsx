import { useParley, useParleyEvents } from '@parley/client/react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { Page } from '../kit/page.tsx'
import { Empty, Loaded } from '../kit/states.tsx'
import { Tabs, useTab } from '../kit/tabs.tsx'
import { useUrlState } from '../kit/url-state.ts'
import '../styles/contacts.css'
import { AutomationState } from './automation-state.tsx'
import { WindowState } from './composer.tsx'
import { ContactFacts } from './contact-facts.tsx'
import { ContactRuns } from './contact-runs.tsx'
import { ConsentHistory } from './consent-history.tsx'
import type { Conversation } from './contact-words.tsx'
import { Explanations } from './explanations.tsx'
import { Thread } from './thread.tsx'

const CONVERSATIONS_MAX = 20
const SETTLED_MS = 1_500

const TABS = [
  ['conversation', 'Conversation'],
  ['reasons', 'Why nothing happened'],
] as const

export default function ContactPage({ contactId }: { contactId: string }) {
  const parley = useParley()
  const tab = useTab(['conversation', 'reasons'])
  useWrittenMessages(contactId)
  const contact = useQuery(parley.contacts.get.queryOptions({ contactId }))
  const conversations = useQuery(parley.conversations.list.queryOptions({ contactId, limit: CONVERSATIONS_MAX }))
  return (
    <Page title={contact.data?.name ?? 'Contact'} aside={contact.data?.blocked && <Blocked />}>
      <div className="contact-page">
        <div className="stack">
          <Tabs tabs={TABS.map(([name, title]) => [name, title])} current={tab} label="Of the contact" />
          <Loaded query={conversations} height={420}>
            {({ items }) =>
              tab === 'reasons' ? (
                <Explanations contactId={contactId} conversations={items} />
              ) : (
                <Conversations items={items} />
              )
            }
          </Loaded>
        </div>
        <aside className="stack" aria-label="About the contact">
          <Loaded query={contact} height={240}>
            {(found) => <ContactFacts contact={found} />}
          </Loaded>
          <ConsentHistory contactId={contactId} />
          <ContactRuns contactId={contactId} />
        </aside>
      </div>
    </Page>
  )
}

/**
 * Reads what a message of the contact changes besides the conversation: the time at which it wrote, and why workflows did not
 * start. Workflows look at the message after it is stored, so that is read a moment later, and once for several messages.
 */
function useWrittenMessages(contactId: string): void {
  const parley = useParley()
  const queryClient = useQueryClient()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useParleyEvents({
    onEvent: (event) => {
      if (event.type !== 'message.received' || event.data.contactId !== contactId) return
      timer.current ??= setTimeout(() => {
        timer.current = undefined
        void queryClient.invalidateQueries({ queryKey: parley.contacts.pathKey() })
      }, SETTLED_MS)
    },
  })
  useEffect(() => () => clearTimeout(timer.current), [])
}

function Blocked() {
  return <span className="status tone-bad">Blocked: is sent nothing and starts no runs</span>
}

/** The conversation that the address names, or the last one. */
function Conversations({ items }: { items: readonly Conversation[] }) {
  const [chosen, choose] = useUrlState('conversation')
  const conversation = items.find(({ id }) => id === chosen) ?? items[0]
  if (!conversation) {
    return (
      <div className="card">
        <Empty
          title="No conversation yet"
          action={
            <Link className="button primary" href="/playground">
              Write as a customer
            </Link>
          }
        >
          A conversation begins when the contact writes, or when you send a template.
        </Empty>
      </div>
    )
  }
  return (
    <section className="card" aria-label="Messages">
      <div className="card-head">
        {items.length > 1 && (
          <select
            aria-label="Conversation"
            value={conversation.id}
            onChange={({ target }) => choose(target.value === items[0]?.id ? '' : target.value)}
          >
            {items.map((item) => (
              <option key={item.id} value={item.id}>
                {item.channelType === 'sandbox' ? 'Sandbox' : 'WhatsApp'} {item.id.slice(-4)}
                {item.unreadCount > 0 ? ` (${item.unreadCount} unread)` : ''}
              </option>
            ))}
          </select>
        )}
        <h2>{conversation.channelType === 'sandbox' ? 'Sandbox' : 'WhatsApp'}</h2>
        {conversation.status !== 'active' && <span className="status">{conversation.status}</span>}
        <span className="spread">
          <WindowState conversation={conversation} />
        </span>
      </div>
      <AutomationState conversation={conversation} />
      <Thread key={conversation.id} conversation={conversation} />
    </section>
  )
}
