import {
  type Edge,
  EdgeLabelRenderer,
  type EdgeProps,
  Handle,
  type Node,
  type NodeProps,
  Position,
} from '@xyflow/react'
import { memo } from 'react'
import type { GraphNode } from './definition-graph.ts'
import type { Point } from './layout.ts'
import type { NodeMark } from './run-marks.ts'

export type StepNodeData = {
  node: GraphNode
  mark?: NodeMark | undefined
  problems: readonly string[]
  isSelected: boolean
  onSelect: (id: string) => void
  onFocus: (id: string) => void
}
export type StepFlowNode = Node<StepNodeData, 'step'>
export type LoopFlowNode = Node<{ name: string }, 'loop'>
export type FlowEdge = Edge<{ path: string; label: string; at: Point; isTaken: boolean }, 'way'>

/** Nodes are joined at these places, which nobody sees or drags. */
function Joints() {
  return (
    <>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </>
  )
}

const WORDS: Readonly<Record<NodeMark['status'], string>> = {
  running: 'Running',
  waiting: 'Waiting',
  completed: 'Done',
  failed: 'Failed',
  skipped: 'Skipped',
  canceled: 'Canceled',
}

export const StepNode = memo(function StepNode({ id, data }: NodeProps<StepFlowNode>) {
  const { node, mark, problems, isSelected, onSelect, onFocus } = data
  const status = mark && node.fails && mark.status === 'completed' ? 'failed' : mark?.status
  const classes = [
    'graph-node',
    `is-${node.kind}`,
    status ? `is-${status}` : '',
    problems.length > 0 ? 'has-problem' : '',
  ]
  if (node.kind === 'end') {
    return (
      <div className={classes.filter(Boolean).join(' ')}>
        <Joints />
        End
      </div>
    )
  }
  return (
    <button
      type="button"
      className={classes.filter(Boolean).join(' ')}
      aria-pressed={isSelected}
      title={node.detail || undefined}
      onClick={() => onSelect(id)}
      onFocus={(event) => event.currentTarget.matches(':focus-visible') && onFocus(id)}
    >
      <Joints />
      <span className="graph-kind">
        {node.title}{' '}
        {mark && status && (
          <span className="graph-mark">
            {WORDS[status]}
            {mark.visits > 1 && ` ×${mark.visits}`}
          </span>
        )}
        {problems.length > 0 && (
          <span className="graph-mark is-bad">
            {problems.length === 1 ? '1 problem' : `${problems.length} problems`}
          </span>
        )}
      </span>
      <strong>{node.name}</strong> {node.detail !== '' && <span className="graph-detail">{node.detail}</span>}
      {problems.length > 0 && <span className="visually-hidden"> Problems: {problems.join(' ')}</span>}
    </button>
  )
})

export const LoopNode = memo(function LoopNode({ data }: NodeProps<LoopFlowNode>) {
  return <div className="graph-loop">Loop {data.name}</div>
})

export const WayEdge = memo(function WayEdge({ id, data, markerEnd }: EdgeProps<FlowEdge>) {
  if (!data) return null
  const { path, label, at, isTaken } = data
  return (
    <>
      <path id={id} className={isTaken ? 'graph-way is-taken' : 'graph-way'} d={path} markerEnd={markerEnd} />
      {label !== '' && (
        <EdgeLabelRenderer>
          <span
            className={isTaken ? 'graph-label is-taken' : 'graph-label'}
            style={{ transform: `translate(-50%, -50%) translate(${at.x}px, ${at.y}px)` }}
          >
            {label}
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  )
})
