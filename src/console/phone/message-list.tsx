import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { formatClock } from '../kit/time.tsx'
import '../styles/phone.css'
import { describeOthers, type Message, readLink, readOptions, readTemplateName } from './content.ts'

export type { Message }

type Choose = (message: Message, optionId: string) => void

type Props = {
  messages: readonly Message[]
  /** The person who looks, whose own messages are at the right. */
  side: 'customer' | 'member'
  /** Lets the customer choose an option of the last message that offers some. */
  onChoose?: Choose
  /** Shown after the last message. */
  children?: ReactNode
}

/** Within this distance from the end, new messages are scrolled to. */
const END_PX = 80

/** The messages of a conversation, the newest at the end. What is being read is not scrolled away. */
export function MessageList({ messages, side, onChoose, children }: Props) {
  const shown = messages
    .filter(({ direction }) => side === 'member' || direction !== 'internal')
    .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || a.id.localeCompare(b.id))
  const { ref, unseen, onScroll, toEnd } = useStickToEnd(shown)
  const lastOffer = shown.findLast((message) => readOptions(message) !== undefined)?.id
  return (
    <div className="messages-frame">
      <div className="messages" ref={ref} onScroll={onScroll} role="log" aria-label="Messages" tabIndex={0}>
        {shown.map((message) => (
          <Bubble
            key={message.id}
            message={message}
            side={side}
            onChoose={message.id === lastOffer ? onChoose : undefined}
          />
        ))}
        {children}
      </div>
      {unseen > 0 && (
        <Button small className="unseen" onClick={toEnd}>
          {unseen} new {unseen === 1 ? 'message' : 'messages'} ↓
        </Button>
      )}
    </div>
  )
}

/**
 * Scrolls to the end when a message is added, unless the reader has scrolled up; then counts what is new. Older messages that
 * are put before the others move nothing.
 */
function useStickToEnd(messages: readonly Message[]) {
  const ref = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  /** The distance of what is in view from the end, which older messages do not change. */
  const fromEnd = useRef(0)
  const [firstId, lastId] = [messages.at(0)?.id, messages.at(-1)?.id]
  const first = useRef(firstId)
  const seenId = useRef(lastId)
  const [unseen, setUnseen] = useState(0)
  const toEnd = () => {
    ref.current?.scrollTo({ top: ref.current.scrollHeight })
    seenId.current = lastId
    setUnseen(0)
  }
  useLayoutEffect(() => {
    const seen = messages.findLastIndex(({ id }) => id === seenId.current)
    if (isAtEnd.current) toEnd()
    else {
      if (firstId !== first.current && ref.current) ref.current.scrollTop = ref.current.scrollHeight - fromEnd.current
      setUnseen(seen < 0 ? 0 : messages.length - 1 - seen)
    }
    first.current = firstId
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- only a message at one of the ends scrolls
  }, [firstId, lastId])
  const onScroll = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = ref.current ?? {}
    fromEnd.current = scrollHeight - scrollTop
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < END_PX
    if (isAtEnd.current && unseen > 0) toEnd()
  }
  return { ref, unseen, onScroll, toEnd }
}

type BubbleProps = { message: Message; side: Props['side']; onChoose: Choose | undefined }

function Bubble({ message, side, onChoose }: BubbleProps) {
  const isOwn = (message.direction === 'inbound') === (side === 'customer')
  const others = describeOthers(message)
  const link = readLink(message)
  const template = readTemplateName(message)
  return (
    <article
      className={`bubble ${message.direction === 'internal' ? 'note-bubble' : isOwn ? 'own' : 'other'}`}
      aria-label={`${sayWho(message, side)} at ${formatClock(message.createdAt)}`}
    >
      {side === 'member' && message.direction !== 'inbound' && <SentBy message={message} />}
      {template !== undefined && <small className="muted">Template {template}</small>}
      <Media message={message} />
      {message.body !== null && <p>{message.body}</p>}
      {others !== undefined && <p>{others}</p>}
      {link && (
        <a href={link.url} target="_blank" rel="noreferrer">
          {link.title}
        </a>
      )}
      <footer>
        {formatClock(message.createdAt)} {message.direction === 'outbound' && <Delivery message={message} />}
      </footer>
      <Options message={message} onChoose={onChoose} />
    </article>
  )
}

function sayWho({ direction, sender }: Message, side: Props['side']): string {
  if (direction === 'internal') return `Note of ${sender.name ?? 'a member'}`
  if ((direction === 'inbound') === (side === 'customer')) return 'You'
  return direction === 'inbound' ? 'Customer' : (sender.name ?? 'Business')
}

/** The author of a message of the business; of a workflow with its run. */
function SentBy({ message: { sender, runId } }: { message: Message }) {
  const name = sender.name ?? sender.type
  return (
    <small className="muted">{runId === null ? name : <Link href={`/runs/${runId}`}>{name}: open the run</Link>}</small>
  )
}

const MARKS: Readonly<Record<string, string>> = { sent: '✓', delivered: '✓✓', read: '✓✓', played: '✓✓' }

function Delivery({ message: { status, error } }: { message: Message }) {
  return (
    <span className={status === 'failed' ? 'failed' : ''} title={error?.message}>
      {MARKS[status] ?? ''} {status}
      {error && `: ${error.message}`}
    </span>
  )
}

function Media({ message: { media, type } }: { message: Message }) {
  if (!media) return null
  const name = media.filename ?? type
  if (!media.url) return <p className="muted">{`${name}: ${media.error ?? media.status}`}</p>
  if (type === 'image' || type === 'sticker') return <img src={media.url} alt={name} loading="lazy" />
  // oxlint-disable-next-line jsx-a11y/media-has-caption -- what customers send has none
  if (type === 'audio') return <audio src={media.url} controls aria-label={name} />
  // oxlint-disable-next-line jsx-a11y/media-has-caption -- what customers send has none
  if (type === 'video') return <video src={media.url} controls aria-label={name} />
  return (
    <a href={media.url} target="_blank" rel="noreferrer">
      {name}
    </a>
  )
}

function Options({ message, onChoose }: { message: Message; onChoose: Choose | undefined }) {
  const offer = readOptions(message)
  if (!offer) return null
  const buttons = offer.options.map(({ id, title, description }) => (
    <Button key={id} small disabled={!onChoose} onClick={() => onChoose?.(message, id)}>
      {title}
      {description && <small>{description}</small>}
    </Button>
  ))
  if (!offer.isList) return <div className="options">{buttons}</div>
  return (
    <details className="options-list">
      <summary>{offer.label}</summary>
      <div className="options">{buttons}</div>
    </details>
  )
}
