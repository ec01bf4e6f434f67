import type { RouterOutputs } from '@parley/client'
import { useParley, useParleyEvents } from '@parley/client/react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { Button } from '../kit/button.tsx'
import { Copy } from '../kit/copy.tsx'
import { Page } from '../kit/page.tsx'
import { Loaded, Loading, Problem } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { useUrlState } from '../kit/url-state.ts'
import { useShortcuts } from '../kit/shortcuts.ts'
import { Timeline } from './timeline.tsx'
import '../styles/run.css'
import '../styles/runs.css'
import { ReplayDialog } from './replay-dialog.tsx'
import { RunActions, RunFacts } from './run-facts.tsx'
import { RunTabs } from './run-tabs.tsx'
import { StepInspector } from './step-inspector.tsx'

type Run = RouterOutputs['runs']['get']
type RunStep = RouterOutputs['runs']['listSteps']['steps'][number]

export default function RunPage({ runId }: { runId: string }) {
  const parley = useParley()
  const run = useQuery(parley.runs.get.queryOptions({ runId }))
  const steps = useQuery(parley.runs.listSteps.queryOptions({ runId }))
  useDeliveries(runId, steps.data?.steps)
  if (!run.data) {
    return (
      <Page title="Run">
        {run.error ? <Problem error={run.error} /> : <Loading height={480} />}
        {run.error && (
          <p>
            <Link href="/runs">Back to all runs</Link>
          </p>
        )}
      </Page>
    )
  }
  return (
    <Loaded query={steps} height={480}>
      {(found) => <RunView run={run.data} steps={found.steps} />}
    </Loaded>
  )
}

/** Reads again what shows the status of a message of a step when it changes, as events of runs do not say that. */
function useDeliveries(runId: string, steps: readonly RunStep[] | undefined): void {
  const parley = useParley()
  const queryClient = useQueryClient()
  useParleyEvents({
    onEvent: ({ type, data }) => {
      if (!type.startsWith('message.') || !('messageId' in data)) return
      const messageId = steps?.find((step) => step.messageId === data.messageId)?.messageId
      if (!messageId) return
      void queryClient.invalidateQueries({ queryKey: parley.runs.listSteps.queryKey({ runId }) })
      void queryClient.invalidateQueries({ queryKey: parley.messages.explain.queryKey({ messageId }) })
    },
  })
}

function RunView({ run, steps }: { run: Run; steps: readonly RunStep[] }) {
  const { shown, selected, select, failures, isFailuresOnly, toggleFailures } = useSteps(steps)
  const [replayFrom, setReplayFrom] = useState<string | undefined>()
  const step = steps.find(({ id }) => id === selected)
  return (
    <Page
      title={run.workflowName}
      aside={
        <>
          <Status status={run.status} />
          <Copy text={run.id} label="run ID" />
          {run.mode === 'dry_run' && <span className="muted">dry run: nothing was sent or called</span>}
        </>
      }
      actions={<RunActions run={run} onReplay={() => setReplayFrom('auto')} />}
    >
      <RunFacts run={run} />
      <div className="run-grid">
        <section className="card run-timeline" aria-labelledby="timeline-title">
          <div className="card-head">
            <h2 id="timeline-title">Timeline</h2>
            <span className="muted">{steps.length === 1 ? '1 step' : `${steps.length} steps`}</span>
            {failures > 0 && (
              <Button
                small
                className="spread"
                aria-pressed={isFailuresOnly}
                aria-keyshortcuts="f"
                onClick={toggleFailures}
              >
                {failures === 1 ? '1 failure' : `${failures} failures`} only <kbd>f</kbd>
              </Button>
            )}
          </div>
          <Timeline run={run} steps={shown} selected={selected} onSelect={select} />
        </section>
        {step ? (
          <StepInspector step={step} run={run} onReplay={() => setReplayFrom(step.id)} />
        ) : (
          <section className="card padded muted run-step">This run has not started a step.</section>
        )}
        <RunTabs run={run} steps={steps} step={step} onSelect={select} />
      </div>
      {replayFrom !== undefined && (
        <ReplayDialog run={run} steps={steps} from={replayFrom} onClose={() => setReplayFrom(undefined)} />
      )}
    </Page>
  )
}

/** The steps that are shown, and the selected one: without a choice the last that failed, or the last. */
function useSteps(steps: readonly RunStep[]) {
  const [chosen, select] = useUrlState('step')
  const [only, setOnly] = useUrlState('only')
  const failed = steps.filter(({ status }) => status === 'failed')
  const isFailuresOnly = only === 'failures' && failed.length > 0
  const shown = isFailuresOnly ? failed : steps
  const isKnown = steps.some(({ id }) => id === chosen)
  const selected = isKnown ? chosen : (failed.at(-1) ?? steps.at(-1))?.id
  const toggleFailures = () => setOnly(isFailuresOnly ? '' : 'failures')
  const move = (by: number) => {
    const next = shown[shown.findIndex(({ id }) => id === selected) + by]
    if (next) select(next.id)
  }
  useShortcuts({ f: toggleFailures, j: () => move(1), k: () => move(-1) })
  return { shown, selected, select, failures: failed.length, isFailuresOnly, toggleFailures }
}
