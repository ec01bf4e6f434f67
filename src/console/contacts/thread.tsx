import { useParley } from '@parley/client/react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { Button } from '../kit/button.tsx'
import { Loaded } from '../kit/states.tsx'
import { MessageList } from '../phone/message-list.tsx'
import { Composer } from './composer.tsx'
import type { Conversation } from './contact-words.tsx'
import { isUncertain, type Unsent, useOutbox } from './outbox.ts'

const PAGE = 50

/** The messages of a conversation, the newest at the end, with what is being written. */
export function Thread({ conversation }: { conversation: Conversation }) {
  const parley = useParley()
  const conversationId = conversation.id
  const messages = useInfiniteQuery(
    parley.conversations.listMessages.infiniteQueryOptions(
      { conversationId, limit: PAGE },
      { getNextPageParam: ({ nextCursor }) => nextCursor },
    ),
  )
  const outbox = useOutbox(conversationId)
  return (
    <>
      <Loaded query={messages} height={320}>
        {({ pages }) => {
          const shown = pages.toReversed().flatMap((page) => page.messages)
          const known = new Set(shown.map(({ id }) => id))
          const unsent = outbox.unsent.filter(({ messageId }) => messageId === undefined || !known.has(messageId))
          return (
            <div className="thread">
              {messages.hasNextPage && (
                <Button
                  small
                  className="thread-older"
                  disabled={messages.isFetchingNextPage}
                  onClick={() => void messages.fetchNextPage()}
                >
                  Older messages
                </Button>
              )}
              <MessageList messages={shown} side="member">
                {unsent.map((entry) => (
                  <UnsentText key={entry.key} entry={entry} onRetry={outbox.retry} onDiscard={outbox.discard} />
                ))}
              </MessageList>
            </div>
          )
        }}
      </Loaded>
      <Composer key={conversationId} conversation={conversation} onSend={outbox.send} />
    </>
  )
}

type UnsentProps = { entry: Unsent; onRetry: (entry: Unsent) => void; onDiscard: (entry: Unsent) => void }

/** A text that the list of messages does not yet have, with what became of it. */
function UnsentText({ entry, onRetry, onDiscard }: UnsentProps) {
  const article = useRef<HTMLElement>(null)
  // What the member sends is shown, also if the end of the conversation was not.
  useEffect(() => {
    article.current?.scrollIntoView({ block: 'nearest' })
  }, [entry.reason])
  return (
    <article
      ref={article}
      className={entry.reason === undefined ? 'bubble own unsent' : 'bubble own unsent failed-text'}
      aria-label={entry.reason === undefined ? 'Being sent' : isUncertain(entry) ? 'Perhaps sent' : 'Not sent'}
    >
      <p>{entry.body}</p>
      {entry.reason === undefined ? (
        <small className="muted">Sending…</small>
      ) : (
        <div role="alert">
          <small>
            {!isUncertain(entry) && 'Not sent. '}
            {entry.reason}
          </small>
          <div className="row">
            <Button small onClick={() => onRetry(entry)}>
              {isUncertain(entry) ? 'Send again' : 'Retry'}
            </Button>
            <Button small kind="quiet" onClick={() => onDiscard(entry)}>
              Discard
            </Button>
          </div>
        </div>
      )}
    </article>
  )
}
