import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Copy } from '../kit/copy.tsx'
import { Loaded } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { Time } from '../kit/time.tsx'

type ChainLink = RouterOutputs['messages']['explain']['links'][number]

/** The causes and effects of a message in their order. */
export function Explanation({ messageId }: { messageId: string }) {
  const parley = useParley()
  const query = useQuery(parley.messages.explain.queryOptions({ messageId }))
  return (
    <Loaded query={query} height={240}>
      {({ summary, links }) => (
        <div className="card padded stack">
          <p className="chain-summary">{summary}</p>
          <ol className="chain" aria-label="Causes and effects">
            {links.map((link, index) => (
              <li key={index}>
                <span className="kind">{link.type.replaceAll('_', ' ')}</span>
                <div className="chain-text">{describe(link)}</div>
                <span className="muted at">{'at' in link && <Time at={link.at} />}</span>
              </li>
            ))}
          </ol>
        </div>
      )}
    </Loaded>
  )
}

const RELATIONS = {
  started: 'was started',
  reply_consumed: 'got the message as a reply',
  debounced: 'got the message together with others',
  called: 'started the next run',
  sent: 'sent the message',
}

function describe(link: ChainLink): ReactNode {
  switch (link.type) {
    case 'event':
      return (
        <>
          {link.eventType.replaceAll('_', ' ')}, by {link.startedBy.type}
          {link.message?.body && <Quote text={link.message.body} />}
        </>
      )
    case 'trigger':
      return link.message
    case 'run':
      return <RunOfChain link={link} />
    case 'step':
      return <StepOfChain link={link} />
    case 'sender':
      return `${link.sender.name ?? 'without a name'} (${link.sender.type})`
    case 'broadcast':
      return (
        <>
          <Link href={`/broadcasts/${link.id}`}>{link.name}</Link> <Status status={link.status} />
        </>
      )
    case 'message':
      return (
        <>
          {link.direction} <Status status={link.status} /> <Copy text={link.id} label="message ID" />
          {link.body && <Quote text={link.body} />}
          <Failure error={link.error} />
        </>
      )
    case 'status':
      return (
        <>
          <Status status={link.status} />
          <Failure error={link.error} />
        </>
      )
    case 'evaluation':
      return (
        <>
          <Link href={`/workflows/${link.workflowId}`}>{link.workflowName ?? 'A deleted workflow'}</Link> did not start:{' '}
          {link.message}
        </>
      )
    case 'dead_letter':
      return (
        <>
          Not processed after {link.attempts} attempts <Failure error={link.error} />
        </>
      )
  }
}

function RunOfChain({ link }: { link: ChainLink & { type: 'run' } }) {
  return (
    <>
      <Link href={`/runs/${link.id}`}>
        {link.workflowName} v{link.version}
      </Link>{' '}
      {RELATIONS[link.relation]} <Status status={link.status} />
    </>
  )
}

function StepOfChain({ link }: { link: ChainLink & { type: 'step' } }) {
  return (
    <>
      {link.name ?? link.stepId} <code>{link.stepType}</code>
      {link.branch && <> took the branch “{link.branch}”</>}
      {link.after && (
        <span className="muted">
          {' '}
          after “{link.after.stepId}”{link.after.branch && <>, which took “{link.after.branch}”</>}
        </span>
      )}{' '}
      <Status status={link.status} />
    </>
  )
}

function Quote({ text }: { text: string }) {
  return <blockquote>{text}</blockquote>
}

function Failure({ error }: { error: { code: string; message: string } | null }) {
  return error && <div className="failure">{error.message}</div>
}
