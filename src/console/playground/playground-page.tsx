import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { Page } from '../kit/page.tsx'
import { Empty, Loading, Problem } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { useUrlState } from '../kit/url-state.ts'
import { useShortcuts } from '../kit/shortcuts.ts'
import '../styles/playground.css'
import { Timeline } from '../runs/timeline.tsx'
import { ClockButtons } from './clock.tsx'
import { CustomerPhone } from './customer-phone.tsx'
import { type Run, useCustomer } from './use-customer.tsx'

const WorkflowGraph = lazy(() => import('../graph/workflow-graph.tsx'))

/** Play the customer, and watch what the workflows do with each message. */
export default function PlaygroundPage() {
  const [chosen, choose] = useUrlState('contact')
  const played = useCustomer(chosen)
  const { isReady, contactId, conversation } = played
  const inputRef = useRef<HTMLInputElement>(null)
  useEffect(() => inputRef.current?.focus(), [isReady, contactId])
  useShortcuts({ p: () => inputRef.current?.focus() })
  return (
    <Page title="Playground" actions={conversation && <ClockButtons conversationId={conversation.id} />}>
      <Problem error={played.error} />
      <div className="playground">
        <RunView run={played.run} />
        <CustomerPhone played={played} inputRef={inputRef} onChoose={choose} />
      </div>
    </Page>
  )
}

/** The newest run: its workflow with the path that it took, and its steps over time. */
function RunView({ run }: { run: Run | undefined }) {
  const parley = useParley()
  const isKnown = run !== undefined
  const [selected, select] = useUrlState('step')
  const steps = useQuery(parley.runs.listSteps.queryOptions({ runId: run?.id ?? '' }, { enabled: isKnown }))
  const version = useQuery(
    parley.workflows.getVersion.queryOptions(
      { workflowId: run?.workflowId ?? '', version: run?.workflowVersion ?? 1 },
      { enabled: isKnown },
    ),
  )
  if (!run) {
    return (
      <div className="card">
        <Empty title="Nothing has run yet">
          Write a message in the phone. The workflow that answers and its steps are shown here.
        </Empty>
      </div>
    )
  }
  const rows = steps.data?.steps ?? []
  return (
    <div className="stack playground-run">
      <section className="card" aria-label="Workflow">
        <div className="card-head">
          <h2>
            <Link href={`/workflows/${run.workflowId}`}>{run.workflowName}</Link>
          </h2>
          <span className="muted">v{run.workflowVersion}</span>
          <Status status={run.status} />
          <Link href={`/runs/${run.id}`} className="spread">
            Open the run
          </Link>
        </div>
        <div className="playground-graph">
          <Suspense fallback={<Loading height={260} />}>
            {version.data && (
              <WorkflowGraph
                definition={version.data.definition}
                steps={rows}
                selected={rows.find(({ id }) => id === selected)?.stepId}
                onSelect={(stepId) => select(rows.findLast((row) => row.stepId === stepId)?.id ?? '')}
              />
            )}
          </Suspense>
        </div>
      </section>
      <section className="card" aria-label="Timeline">
        <div className="card-head">
          <h2>Timeline of the newest run</h2>
        </div>
        <div className="playground-timeline">
          <Timeline run={run} steps={rows} selected={selected} onSelect={select} />
        </div>
      </section>
    </div>
  )
}
