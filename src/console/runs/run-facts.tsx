import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Copy } from '../kit/copy.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Problem } from '../kit/states.tsx'
import { formatDuration, Time } from '../kit/time.tsx'
import { toast } from '../kit/toasts.tsx'

type Run = RouterOutputs['runs']['get']

/** Cancel or replay, of which one is possible at any time, and the comparison of a replay. */
export function RunActions({ run, onReplay }: { run: Run; onReplay: () => void }) {
  const [isAsking, setAsking] = useState(false)
  const isFinished = run.finishedAt !== null
  return (
    <>
      {run.replayOf && (
        <Link className="button" href={`/runs/${run.replayOf}/compare/${run.id}`}>
          Compare with the original
        </Link>
      )}
      {isFinished && run.mode === 'live' && (
        <Button kind="primary" onClick={onReplay}>
          Replay…
        </Button>
      )}
      {!isFinished && (
        <Button kind="danger" onClick={() => setAsking(true)}>
          Cancel run…
        </Button>
      )}
      {isAsking && !isFinished && <CancelDialog run={run} onClose={() => setAsking(false)} />}
    </>
  )
}

function CancelDialog({ run, onClose }: { run: Run; onClose: () => void }) {
  const parley = useParley()
  const queryClient = useQueryClient()
  const cancel = useMutation(
    parley.runs.cancel.mutationOptions({
      onSuccess: (changed) => {
        queryClient.setQueryData(parley.runs.get.queryKey({ runId: run.id }), changed)
        toast('The run is canceled')
        onClose()
      },
    }),
  )
  return (
    <Dialog title="Cancel this run?" onClose={onClose}>
      <div className="body">
        <p>
          It stops where it is, and its messages that are not sent yet are canceled. A canceled run can be replayed.
        </p>
        <Problem error={cancel.error} />
        <div className="footer">
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="danger" disabled={cancel.isPending} onClick={() => cancel.mutate({ runId: run.id })}>
            Cancel the run
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

/** The wait of a run, in words. */
export const WAITED = { reply: 'a reply', timer: 'a time', event: 'an event', result: 'a result' }

/** The start of a run, the objects that it is connected with, and the reason of its end. */
export function RunFacts({ run }: { run: Run }) {
  return (
    <>
      {run.error && <RunError error={run.error} status={run.status} />}
      {run.waiting && (
        <p className="note">
          Step “{run.waiting.stepId}” waits for {WAITED[run.waiting.for]}
          {run.waiting.until && (
            <>
              . The run continues <Time at={run.waiting.until} />
              {run.waiting.for !== 'timer' && ' at the latest'}
            </>
          )}
          .
        </p>
      )}
      {run.hasDeliveryFailures && (
        <p className="note">A message of this run was not delivered. Its step says which one.</p>
      )}
      <dl className="card padded run-facts">
        <Fact title="Workflow">
          <Link href={`/workflows/${run.workflowId}`}>{run.workflowName}</Link>{' '}
          {run.draft ? 'draft' : `v${run.workflowVersion}`}
        </Fact>
        <Fact title="Contact">
          <Contact contactId={run.contactId} />
        </Fact>
        <Fact title="Trigger">{run.trigger.type.replaceAll('_', ' ')}</Fact>
        <Fact title="Started by">
          {run.startedBy.type}{' '}
          {run.startedBy.id && <Copy text={run.startedBy.id} label={`ID of the ${run.startedBy.type}`} />}
        </Fact>
        <Fact title="Started">
          <Time at={run.startedAt} />
        </Fact>
        <Fact title="Duration">{run.durationMs === null ? 'not finished' : formatDuration(run.durationMs)}</Fact>
        <Fact title="Messages sent">{run.sentMessageCount}</Fact>
        {run.parentRunId && (
          <Fact title="Started by run">
            <RunLink id={run.parentRunId} />
          </Fact>
        )}
        {run.replayOf && (
          <Fact title="Replay of">
            <RunLink id={run.replayOf} />
            {run.replayFromStepId && ` from “${run.replayFromStepId}”`}
          </Fact>
        )}
        {run.replayCount > 0 && <Fact title="Replays">{run.replayCount}</Fact>}
      </dl>
    </>
  )
}

function Fact({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function RunLink({ id }: { id: string }) {
  return <Link href={`/runs/${id}`}>…{id.slice(-8)}</Link>
}

function Contact({ contactId }: { contactId: string | null }) {
  const parley = useParley()
  const { data } = useQuery(
    parley.contacts.get.queryOptions({ contactId: contactId ?? '' }, { enabled: contactId !== null }),
  )
  if (contactId === null) return <span className="muted">none</span>
  return <Link href={`/contacts/${contactId}`}>{data?.name ?? `…${contactId.slice(-8)}`}</Link>
}

function RunError({ error, status }: { error: NonNullable<Run['error']>; status: string }) {
  return (
    <div className="problem">
      <strong>{error.message}</strong>
      <span>
        {error.stepId && <>Step “{error.stepId}”. </>}
        {status === 'canceled' || (
          <>
            {'Correct the cause, then replay the run from this step. '}
            <a href={`/docs/errors#step-${error.code}`}>What “{error.code}” means</a>
          </>
        )}
      </span>
    </div>
  )
}
