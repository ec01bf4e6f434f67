import type { RouterOutputs } from '@parley/client'
import { useMemo, useState } from 'react'
import { Button } from '../kit/button.tsx'
import { Status } from '../kit/status.tsx'
import { formatDuration, useNow } from '../kit/time.tsx'
import { Bar, CutBands, CutLengths, useRowKeys } from './timeline-parts.tsx'
import { pickRows, type Segment, toPlace, toSegments, toSpans } from './timeline-scale.ts'

type Run = RouterOutputs['runs']['get']
type RunStep = RouterOutputs['runs']['listSteps']['steps'][number]

type Props = {
  run: Run
  steps: readonly RunStep[]
  selected?: string | undefined
  onSelect?: ((id: string) => void) | undefined
}

/** Number of rows that are drawn at first, and that each "Show more" adds. */
const ROWS = 100

/** The steps of a run over time. Long waits are cut. `selected` is the ID of a row of the steps. */
export function Timeline(props: Props) {
  const isLive = props.run.finishedAt === null && props.steps.some(({ finishedAt }) => finishedAt === null)
  return isLive ? <LiveTimeline {...props} /> : <TimelineAt {...props} nowMs={readEnd(props)} />
}

function LiveTimeline(props: Props) {
  return <TimelineAt {...props} nowMs={useNow()} />
}

/** Returns the end of a run that is not in progress. */
function readEnd({ run, steps }: Props): number {
  const last = run.finishedAt ?? steps.at(-1)?.finishedAt ?? steps.at(-1)?.startedAt
  return last ? new Date(last).getTime() : 0
}

function TimelineAt({ run, steps, nowMs, selected, onSelect }: Props & { nowMs: number }) {
  const [max, setMax] = useState(ROWS)
  const spans = useMemo(() => toSpans(steps, nowMs), [steps, nowMs])
  const segments = useMemo(() => toSegments(spans), [spans])
  const rows = useMemo(() => pickRows(steps, { max, selected }), [steps, max, selected])
  const keys = useRowKeys({ ids: rows.map(({ row }) => row.id), selected, onSelect })
  const endedBy = findFailure(run, steps)?.id
  if (steps.length === 0) return <p className="timeline-none muted">No step has started yet.</p>
  return (
    <div className="timeline">
      <Axis segments={segments} />
      <div className={onSelect && 'timeline-scroll'}>
        <div className="timeline-rows">
          <div className="timeline-cuts" aria-hidden="true">
            <CutBands segments={segments} />
          </div>
          <div {...keys}>
            {rows.map(({ row, skipped }) => (
              <Row
                key={row.id}
                id={`${keys.id}-${row.id}`}
                step={row}
                {...{ segments, nowMs, skipped, onSelect }}
                failsRun={row.id === endedBy}
                isSelected={row.id === selected}
              />
            ))}
          </div>
        </div>
      </div>
      {steps.length > rows.length && (
        <div className="timeline-more row">
          <span className="muted">
            {rows.length} of {steps.length} steps, failed ones first
          </span>
          <Button small onClick={() => setMax(max + ROWS)}>
            Show {Math.min(ROWS, steps.length - rows.length)} more
          </Button>
        </div>
      )}
    </div>
  )
}

/** Returns the step that completed and ended its run as failed, such as a stop. */
function findFailure(run: Run, steps: readonly RunStep[]): RunStep | undefined {
  if (run.status !== 'failed') return undefined
  const step = steps.findLast(({ stepId }) => stepId === run.error?.stepId)
  return step?.status === 'completed' ? step : undefined
}

/** The whole time, and the length of each part that is cut. */
function Axis({ segments }: { segments: readonly Segment[] }) {
  const totalMs = (segments.at(-1)?.endMs ?? 0) - (segments[0]?.startMs ?? 0)
  return (
    <div className="timeline-axis" aria-hidden="true">
      <span>Step</span>
      <CutLengths segments={segments} />
      <span className="duration">{formatDuration(totalMs)}</span>
    </div>
  )
}

type RowProps = {
  id: string
  step: RunStep
  segments: readonly Segment[]
  nowMs: number
  /** Number of steps before this one that are not drawn. */
  skipped: number
  isSelected: boolean
  failsRun: boolean
  onSelect: Props['onSelect']
}

function Row({ id, step, segments, nowMs, skipped, isSelected, failsRun, onSelect }: RowProps) {
  const [span] = toSpans([step], nowMs)
  const isOpen = step.finishedAt === null && (step.status === 'running' || step.status === 'waiting')
  const title = step.name ?? step.stepId
  return (
    <div
      id={id}
      className={`timeline-row ${skipped > 0 ? 'after-gap' : ''}`}
      role={onSelect ? 'option' : 'listitem'}
      aria-selected={onSelect ? isSelected : undefined}
      onClick={() => onSelect?.(step.id)}
    >
      {skipped > 0 && <span className="gap">{skipped === 1 ? '1 step' : `${skipped} steps`} not shown</span>}
      <span className="name">
        <span>
          {title}
          {step.iteration > 0 && <span className="muted"> #{step.iteration + 1}</span>}
        </span>
        <span className="type">{step.type}</span>
      </span>
      <span className="track">
        {span && (
          <Bar
            step={failsRun ? { ...step, status: 'failed' } : step}
            left={toPlace(segments, span.startMs)}
            right={toPlace(segments, span.endMs)}
          />
        )}
      </span>
      <span className="duration">
        {failsRun && <Status status="failed" label="run failed" />}
        {(step.status === 'failed' || isOpen || step.status === 'canceled' || step.status === 'skipped') && (
          <Status status={step.status} />
        )}
        {span && <span>{formatDuration(step.durationMs ?? span.endMs - span.startMs)}</span>}
      </span>
    </div>
  )
}
