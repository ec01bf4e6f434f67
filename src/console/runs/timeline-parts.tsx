import type { RouterOutputs } from '@parley/client'
import { type KeyboardEvent, useEffect, useId, useRef } from 'react'
import { formatDuration } from '../kit/time.tsx'
import '../styles/timeline.css'
import { isWait, type Segment } from './timeline-scale.ts'

type RunStep = RouterOutputs['runs']['listSteps']['steps'][number]

/** Width in percent from which a cut has room for its duration. */
const LABEL_WIDTH_MIN = 6

type Selection = { ids: string[]; selected: string | undefined; onSelect: ((id: string) => void) | undefined }

/** Properties of the list of rows: one that can be chosen from is a list box, in which arrow keys move the selection. */
export function useRowKeys({ ids, selected, onSelect }: Selection) {
  const id = useId()
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Not when a page is opened, which would scroll it.
    if (selected !== undefined && ref.current?.contains(document.activeElement))
      document.getElementById(`${id}-${selected}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, selected])
  if (!onSelect) return { id, ref, role: 'list', 'aria-label': 'Steps' }
  const onKeyDown = (event: KeyboardEvent) => {
    const index = selected === undefined ? -1 : ids.indexOf(selected)
    const moved = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: ids.length - 1 }[event.key]
    if (moved === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const next = ids[Math.max(0, Math.min(moved, ids.length - 1))]
    if (next !== undefined && next !== selected) onSelect(next)
  }
  const active = selected !== undefined && ids.includes(selected) ? `${id}-${selected}` : undefined
  return {
    id,
    ref,
    role: 'listbox',
    tabIndex: 0,
    'aria-label': 'Steps',
    'aria-activedescendant': active,
    onKeyDown,
  }
}

type SegmentProps = { segments: readonly Segment[] }

/** A track with the length of each part that is cut. */
export function CutLengths({ segments }: SegmentProps) {
  return (
    <div className="track">
      {segments
        .filter(({ isCut, width }) => isCut && width >= LABEL_WIDTH_MIN)
        .map(({ startMs, endMs, left, width }) => (
          <span key={startMs} className="cut-length" style={{ left: `${left}%`, width: `${width}%` }}>
            {formatDuration(endMs - startMs)}
          </span>
        ))}
    </div>
  )
}

/** A track with a band at each part that is cut, to be put behind rows. */
export function CutBands({ segments }: SegmentProps) {
  return (
    <div className="track">
      {segments
        .filter(({ isCut }) => isCut)
        .map(({ startMs, left, width }) => (
          <span key={startMs} style={{ left: `${left}%`, width: `${width}%` }} />
        ))}
    </div>
  )
}

/** Attempts are ticks inside of the bar. Their times are not recorded, so they have equal distances. */
export function Bar({ step, left, right }: { step: RunStep; left: number; right: number }) {
  const classes = ['bar', step.status, isWait(step.type) ? 'wait' : '', step.reusedFromId ? 'reused' : '']
  return (
    <span
      className={classes.filter(Boolean).join(' ')}
      style={{ left: `min(${left}%, 100% - 4px)`, width: `${right - left}%` }}
    >
      {Array.from({ length: Math.min(step.attempt, 20) - 1 }, (_, index) => (
        <i key={index} style={{ left: `${((index + 1) * 100) / step.attempt}%` }} />
      ))}
      {step.attempt > 1 && <span className="visually-hidden">{step.attempt} attempts</span>}
    </span>
  )
}
