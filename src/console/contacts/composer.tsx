import { type FormEvent, useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { SOON_MS, useWindowLeft } from '../kit/service-window.ts'
import { formatDuration } from '../kit/time.tsx'
import type { Conversation } from './contact-words.tsx'
import { readDraft, writeDraft } from './drafts.ts'

const MINUTE = 60_000
const BODY_MAX = 4096

/** Says how long any message may be sent. */
export function WindowState({ conversation }: { conversation: Conversation }) {
  const leftMs = useWindowLeft(conversation.windowExpiresAt)
  if (leftMs === 0) return <span className="status tone-bad">24-hour window closed</span>
  const left = formatDuration(leftMs < MINUTE ? leftMs : Math.floor(leftMs / MINUTE) * MINUTE)
  const tone = leftMs < SOON_MS ? 'tone-warn' : 'tone-good'
  return <span className={`status ${tone}`}>24-hour window closes in {left}</span>
}

type Props = { conversation: Conversation; onSend: (body: string) => void }

/** The field for a reply. While the window is closed, an explanation takes its place. */
export function Composer({ conversation, onSend }: Props) {
  const isClosed = useWindowLeft(conversation.windowExpiresAt) === 0
  const [text, setText] = useState(() => readDraft(conversation.id))
  const change = (changed: string) => {
    setText(changed)
    writeDraft(conversation.id, changed)
  }
  const body = text.trim()
  const submit = () => {
    if (body === '') return
    onSend(body)
    change('')
  }
  if (isClosed) return <ClosedWindow conversation={conversation} hasDraft={body !== ''} />
  return (
    <form
      className="composer"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        submit()
      }}
    >
      <textarea
        aria-label="Reply"
        placeholder={`Reply to ${conversation.contact.name}`}
        rows={2}
        maxLength={BODY_MAX}
        value={text}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur()
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          submit()
        }}
      />
      <div className="row">
        <small className="muted">
          {conversation.automation.state === 'on'
            ? 'Enter sends. Workflows stop answering this conversation when you reply.'
            : 'Enter sends, Shift+Enter starts a new line.'}
        </small>
        <Button type="submit" kind="primary" className="spread" disabled={body === ''}>
          Send
        </Button>
      </div>
    </form>
  )
}

function ClosedWindow({ conversation, hasDraft }: { conversation: Conversation; hasDraft: boolean }) {
  return (
    <div className="composer" role="note" aria-label="Closed window">
      <h3>
        {conversation.lastInboundAt !== null ? 'The 24-hour window is closed' : 'The contact has not written yet'}
      </h3>
      <p>
        WhatsApp accepts free text only within 24 hours after a message of the customer. Until the customer writes
        again, only an approved template can be sent.
      </p>
      {hasDraft && <p className="muted">Your draft is kept, and is here again when the customer writes.</p>}
      <p className="row">
        <a className="button" href="/docs/api#templates">
          How to send a template
        </a>
        {conversation.channelType === 'sandbox' && (
          <Link className="button" href="/playground">
            Write as a customer
          </Link>
        )}
      </p>
    </div>
  )
}
