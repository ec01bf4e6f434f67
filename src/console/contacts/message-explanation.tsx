import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Loaded } from '../kit/states.tsx'
import { Time } from '../kit/time.tsx'
import { useUrlState } from '../kit/url-state.ts'
import type { Conversation } from './contact-words.tsx'

type Cause = RouterOutputs['messages']['explain']['links'][number]

/** Causes and effects of the last message, which are read when somebody asks for them. */
export function MessageExplanation({ conversations }: { conversations: readonly Conversation[] }) {
  const [messageId, explain] = useUrlState('message')
  const last = conversations.find(({ lastMessage }) => lastMessage !== null)?.lastMessage
  if (!last && messageId === '') return null
  return (
    <section className="card" aria-label="The last message">
      <div className="card-head">
        <h2>What caused the last message?</h2>
        {last && last.id !== messageId && (
          <Button small className="spread" onClick={() => explain(last.id)}>
            Explain it
          </Button>
        )}
      </div>
      <div className="card-body stack">
        {last && (
          <p>
            {last.direction === 'inbound' ? 'The contact wrote' : 'Sent'} <Time at={last.at} />:{' '}
            <q>{last.body ?? last.type}</q>
          </p>
        )}
        {messageId !== '' && <Explanation key={messageId} messageId={messageId} />}
      </div>
    </section>
  )
}

function Explanation({ messageId }: { messageId: string }) {
  const parley = useParley()
  const explanation = useQuery(parley.messages.explain.queryOptions({ messageId }))
  return (
    <Loaded query={explanation}>
      {({ summary, links }) => (
        <>
          <p>
            <strong>{summary}</strong>
          </p>
          <ol className="evaluations" aria-label="Causes and effects">
            {links.map((link, index) => (
              <li key={index} className="row">
                <span>{describe(link)}</span>
                {'at' in link && (
                  <small className="muted spread">
                    <Time at={link.at} />
                  </small>
                )}
              </li>
            ))}
          </ol>
        </>
      )}
    </Loaded>
  )
}

function describe(cause: Cause) {
  switch (cause.type) {
    case 'event':
      return `Event: ${cause.eventType.replaceAll('_', ' ')}${cause.message?.body ? ` “${cause.message.body}”` : ''}`
    case 'trigger':
      return `Trigger: ${cause.message}`
    case 'run':
      return (
        <>
          Run of <Link href={`/runs/${cause.id}`}>{cause.workflowName}</Link>, version {cause.version}: {cause.status}
        </>
      )
    case 'step':
      return `Step ${cause.index + 1}: ${cause.name ?? cause.stepId} (${cause.stepType.replaceAll('_', ' ')}), ${cause.status}`
    case 'sender':
      return `Sender: ${cause.sender.name ?? cause.sender.type}`
    case 'broadcast':
      return (
        <>
          Broadcast <Link href={`/broadcasts/${cause.id}`}>{cause.name}</Link>: {cause.status}
        </>
      )
    case 'message':
      return `Message “${cause.body ?? ''}”: ${cause.error?.message ?? cause.status}`
    case 'status':
      return `The message is ${cause.status}${cause.error ? `: ${cause.error.message}` : ''}`
    case 'evaluation':
      return `Not started: ${cause.workflowName ?? 'a deleted workflow'}. ${cause.message}`
    case 'dead_letter':
      return `Not processed after ${cause.attempts} attempts: ${cause.error.message}`
  }
}
