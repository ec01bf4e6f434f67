import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Loaded } from '../kit/states.tsx'
import { Time } from '../kit/time.tsx'
import { useUrlState } from '../kit/url-state.ts'
import type { Conversation } from './contact-words.tsx'
import { MessageExplanation } from './message-explanation.tsx'

type Evaluation = RouterOutputs['contacts']['listTriggerEvaluations']['evaluations'][number]

const OUTCOMES: Readonly<Record<Evaluation['outcome'], string>> = {
  no_match: 'Trigger did not match',
  condition_not_met: 'Condition not met',
  already_running: 'Already running',
  automation_paused: 'Workflows paused',
  contact_blocked: 'Contact blocked',
  consent_keyword: 'Consent keyword',
  consumed_as_reply: 'Answered a question',
  preempted_by_priority: 'Another workflow came first',
  max_depth_exceeded: 'Too many workflows in a row',
  cascade_rate_limited: 'Too many starts',
  workflow_unusable: 'Workflow cannot run',
}

const PAGE = 20

type Props = { contactId: string; conversations: readonly Conversation[] }

/** The reasons for which a workflow did not start for a contact, and the causes of the last message. */
export function Explanations({ contactId, conversations }: Props) {
  const parley = useParley()
  const [workflowId, choose] = useUrlState('workflow')
  const workflows = useQuery(parley.workflows.list.queryOptions({}))
  return (
    <>
      <section className="card" aria-label="Why a workflow did not start">
        <div className="card-head">
          <h2>Why did a workflow not start?</h2>
        </div>
        <div className="card-body stack">
          <label className="field">
            Workflow
            <select value={workflowId} onChange={(event) => choose(event.target.value)}>
              <option value="">Choose a workflow</option>
              {workflows.data?.items.map(({ id, name, status }) => (
                <option key={id} value={id}>
                  {name}
                  {status === 'published' ? '' : ` (${status})`}
                </option>
              ))}
            </select>
          </label>
          {workflowId === '' ? (
            <p className="muted">
              Choose the workflow that you expected. Everything that the contact did and that did not start it is listed
              with the reason.
            </p>
          ) : (
            <Evaluations key={workflowId} contactId={contactId} workflowId={workflowId} />
          )}
        </div>
      </section>
      <MessageExplanation conversations={conversations} />
    </>
  )
}

function Evaluations({ contactId, workflowId }: { contactId: string; workflowId: string }) {
  const parley = useParley()
  const found = useInfiniteQuery(
    parley.contacts.listTriggerEvaluations.infiniteQueryOptions(
      { contactId, workflowId, limit: PAGE },
      { getNextPageParam: ({ nextCursor }) => nextCursor },
    ),
  )
  return (
    <Loaded query={found} height={240}>
      {({ pages }) => {
        const [first] = pages
        const evaluations = pages.flatMap((page) => page.evaluations)
        return (
          <>
            {first && <Summary {...first} workflowId={workflowId} />}
            {evaluations.length > 0 && (
              <ol className="evaluations" aria-label="Events that did not start the workflow">
                {evaluations.map((evaluation, index) => (
                  <EvaluationItem key={index} evaluation={evaluation} />
                ))}
              </ol>
            )}
            {found.hasNextPage && (
              <div>
                <Button small disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
                  More
                </Button>
              </div>
            )}
          </>
        )
      }}
    </Loaded>
  )
}

type SummaryProps = Pick<
  RouterOutputs['contacts']['listTriggerEvaluations'],
  'reasons' | 'runsStarted' | 'since' | 'workflowId' | 'contactId' | 'evaluations'
>

function Summary({ reasons, runsStarted, since, workflowId, contactId, evaluations }: SummaryProps) {
  const starts = runsStarted === 0 ? 'It has not started for this contact' : `It started ${runsStarted} times`
  return (
    <>
      {reasons.length > 0 && (
        <div className="note">
          <strong>What prevents it now</strong>
          <ul className="reasons">
            {reasons.map(({ code, message }) => (
              <li key={code}>{message}</li>
            ))}
          </ul>
        </div>
      )}
      <p>
        {runsStarted === 1 ? 'It started once' : starts} since <Time at={since} />
        {evaluations.length === 0 && ', and nothing is recorded that could have started it'}.{' '}
        {runsStarted > 0 && <Link href={`/runs?contactId=${contactId}&workflow=${workflowId}`}>Show its runs</Link>}
      </p>
    </>
  )
}

function EvaluationItem({ evaluation }: { evaluation: Evaluation }) {
  const { at, event, outcome, message, detail, version } = evaluation
  return (
    <li>
      <div className="row">
        <span className="status tone-warn">{OUTCOMES[outcome]}</span>
        <span className="muted">
          {event.type.replaceAll('_', ' ')}
          {event.name && ` “${event.name}”`}
        </span>
        <small className="muted spread">
          <Time at={at} />
          {version > 0 && ` · version ${version}`}
        </small>
      </div>
      <p>{message}</p>
      {detail && <p className="muted">{detail}</p>}
    </li>
  )
}
