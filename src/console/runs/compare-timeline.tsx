import type { RouterOutputs } from '@parley/client'
import { type ReactNode, useMemo } from 'react'
import { Status } from '../kit/status.tsx'
import { formatDuration, useNow } from '../kit/time.tsx'
import '../styles/compare.css'
import type { AlignedStep, RunStep } from './align-steps.ts'
import { Bar, CutBands, CutLengths, useRowKeys } from './timeline-parts.tsx'
import { type Segment, type Span, toPlace, toRelativeSpans, toSharedSegments } from './timeline-scale.ts'

/** A run with its steps, and the title that tells it from the other one. */
export type ComparedRun = { run: RouterOutputs['runs']['get']; steps: readonly RunStep[]; title: string }

type Props = {
  left: ComparedRun
  right: ComparedRun
  rows: readonly AlignedStep[]
  chosen: string | undefined
  onChoose: (key: string) => void
}

/** The steps of two runs over time, side by side on one scale, each from the beginning of its run. */
export function CompareTimeline(props: Props) {
  const isLive = [props.left, props.right].some(({ run }) => run.finishedAt === null)
  return isLive ? <LiveTimeline {...props} /> : <TimelineAt {...props} nowMs={0} />
}

function LiveTimeline(props: Props) {
  return <TimelineAt {...props} nowMs={useNow()} />
}

function TimelineAt({ left, right, rows, chosen, onChoose, nowMs }: Props & { nowMs: number }) {
  const before = useSpans(left, nowMs)
  const after = useSpans(right, nowMs)
  const segments = useMemo(() => toSharedSegments([...before.values(), ...after.values()]), [before, after])
  const keys = useRowKeys({ ids: rows.map(({ key }) => key), selected: chosen, onSelect: onChoose })
  if (rows.length === 0) return <p className="timeline-none muted">No step differs.</p>
  return (
    <div className="timeline compare">
      <Heads left={left} right={right} segments={segments} />
      <div className="timeline-scroll">
        <div className="timeline-rows">
          <div className="timeline-cuts" aria-hidden="true">
            <CutBands segments={segments} />
            <CutBands segments={segments} />
          </div>
          <div {...keys}>
            {rows.map((row) => (
              <Row
                key={row.key}
                id={`${keys.id}-${row.key}`}
                row={row}
                isChosen={row.key === chosen}
                onChoose={onChoose}
              >
                <Lane title={left.title} step={row.left} span={before.get(row.left?.id ?? '')} segments={segments} />
                <Lane title={right.title} step={row.right} span={after.get(row.right?.id ?? '')} segments={segments} />
              </Row>
            ))}
          </div>
        </div>
      </div>
    </div>
  )
}

/** Returns the time of each step by its ID. */
function useSpans({ run, steps }: ComparedRun, nowMs: number): ReadonlyMap<string, Span> {
  const endMs = run.finishedAt === null ? nowMs : new Date(run.finishedAt).getTime()
  return useMemo(() => {
    const spans = toRelativeSpans(steps, endMs)
    return new Map(spans.map((span, index) => [steps[index]?.id ?? '', span]))
  }, [steps, endMs])
}

type HeadsProps = { left: ComparedRun; right: ComparedRun; segments: readonly Segment[] }

function Heads({ left, right, segments }: HeadsProps) {
  return (
    <div className="timeline-axis" aria-hidden="true">
      <span>Step</span>
      {[left, right].map(({ title }) => (
        <div key={title} className="head">
          <span>{title}</span>
          <CutLengths segments={segments} />
        </div>
      ))}
      <span>Difference</span>
    </div>
  )
}

type RowProps = {
  id: string
  row: AlignedStep
  isChosen: boolean
  onChoose: Props['onChoose']
  children: ReactNode
}

function Row({ id, row: { key, left, right, differences }, isChosen, onChoose, children }: RowProps) {
  const step = left ?? right
  return (
    <div
      id={id}
      className={`timeline-row ${differences.length > 0 ? 'differs' : ''}`}
      role="option"
      aria-selected={isChosen}
      onClick={() => onChoose(key)}
    >
      <span className="name">
        <span>
          {step?.name ?? step?.stepId}
          {step && step.iteration > 0 && <span className="muted"> #{step.iteration + 1}</span>}
        </span>
        <span className="type">{step?.type}</span>
      </span>
      {children}
      <span className="difference">
        {differences.length === 0 ? <span className="muted">same</span> : <Differs>{differences.join(', ')}</Differs>}
      </span>
    </div>
  )
}

/** Marks a difference by a sign and words. */
export function Differs({ children }: { children: ReactNode }) {
  return (
    <strong className="differs-mark">
      <span aria-hidden="true">≠</span> {children}
    </strong>
  )
}

type LaneProps = {
  title: string
  step: RunStep | undefined
  span: Span | undefined
  segments: readonly Segment[]
}

/** A step in one of the runs: its time, and what became of it. */
function Lane({ title, step, span, segments }: LaneProps) {
  return (
    <span className="lane">
      <span className="lane-title">{title}</span>
      <span className="track">
        {step && span && (
          <Bar step={step} left={toPlace(segments, span.startMs)} right={toPlace(segments, span.endMs)} />
        )}
      </span>
      <span className="lane-facts">
        {step ? <Status status={step.status} /> : <span className="muted">not reached</span>}
        {step?.branch && <span>branch “{step.branch}”</span>}
        {step && (
          <span className="muted">{step.durationMs === null ? 'not finished' : formatDuration(step.durationMs)}</span>
        )}
        {step?.reusedFromId && <span className="muted">reused</span>}
      </span>
    </span>
  )
}
