import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Json } from '../kit/page.tsx'
import { Loaded, Loading } from '../kit/states.tsx'
import { Tabs, useTab } from '../kit/tabs.tsx'
import { useUrlState } from '../kit/url-state.ts'
import { Explanation } from './explanation.tsx'

const WorkflowGraph = lazy(() => import('../graph/workflow-graph.tsx'))

type Run = RouterOutputs['runs']['get']
type RunStep = RouterOutputs['runs']['listSteps']['steps'][number]

type Props = {
  run: Run
  steps: readonly RunStep[]
  /** The selected one. */
  step: RunStep | undefined
  onSelect: (id: string) => void
}

/** More about a run: its path through the workflow, the cause of a message, and its data. */
export function RunTabs({ run, steps, step, onSelect }: Props) {
  const tab = useTab(['path', 'why', 'data'])
  const tabs: [string, string][] = [
    ['path', 'Path'],
    ['why', 'Why'],
    ['data', 'Data'],
  ]
  return (
    <section className="stack run-tabs" aria-label="Details">
      <Tabs tabs={tabs} current={tab} label="Details of the run" />
      {tab === 'path' && <Path {...{ run, steps, step, onSelect }} />}
      {tab === 'why' && <Why run={run} steps={steps} step={step} />}
      {tab === 'data' && <Data run={run} />}
    </section>
  )
}

function Path({ run, steps, step, onSelect }: Props) {
  const parley = useParley()
  const { workflowId, workflowVersion: version } = run
  const published = useQuery(parley.workflows.getVersion.queryOptions({ workflowId, version }, { enabled: !run.draft }))
  const draft = useQuery(parley.workflows.get.queryOptions({ workflowId }, { enabled: run.draft }))
  const query: { data: { definition: unknown } | undefined; error: unknown; isPending: boolean } = run.draft
    ? draft
    : published
  const selectLast = (stepId: string) => {
    const last = steps.findLast((one) => one.stepId === stepId)
    if (last) onSelect(last.id)
  }
  return (
    <div className="card run-path">
      <Loaded query={query} height={320}>
        {({ definition }) => (
          <Suspense fallback={<Loading height={320} />}>
            <WorkflowGraph
              definition={toRecord(definition)}
              steps={steps}
              selected={step?.stepId}
              onSelect={selectLast}
            />
          </Suspense>
        )}
      </Loaded>
    </div>
  )
}

function toRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}

/** The cause of one message of the run, which can be chosen. */
function Why({ run, steps, step }: Omit<Props, 'onSelect'>) {
  const [chosen, choose] = useUrlState('message')
  const received = run.trigger.messageId
  const messages: [id: string, title: string][] = [
    ...(received ? [[received, 'Received: the message that started the run'] as [string, string]] : []),
    ...steps.flatMap(({ messageId, name, stepId, index }): [string, string][] =>
      messageId ? [[messageId, `Sent by step ${index + 1}: ${name ?? stepId}`]] : [],
    ),
  ]
  const known = new Set(messages.map(([id]) => id))
  const messageId = [chosen, step?.messageId, messages.at(-1)?.[0]].find((id) => id && known.has(id))
  if (!messageId) return <p className="muted">This run has neither received nor sent a message.</p>
  return (
    <div className="stack">
      <label className="field run-message">
        <small>Message</small>
        <select value={messageId} onChange={(event) => choose(event.target.value)}>
          {messages.map(([id, title]) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <Explanation messageId={messageId} />
    </div>
  )
}

function Data({ run }: { run: Run }) {
  const values = [
    ['Input', run.input],
    ['Variables', run.variables],
    ['Output', run.output],
  ] as const
  return (
    <div className="run-data">
      {values.map(([title, value]) => (
        <div key={title} className="stack">
          <h2>{title}</h2>
          <Json value={value ?? undefined} label={`${title} of the run`} />
        </div>
      ))}
    </div>
  )
}
