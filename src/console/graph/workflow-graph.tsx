import '../styles/graph.css'
import type { RouterOutputs } from '@parley/client'
import { MarkerType, Panel, ReactFlow, ReactFlowProvider, useReactFlow, useStore } from '@xyflow/react'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { Button } from '../kit/button.tsx'
import { countSteps, STEPS_MAX, toGraph } from './definition-graph.ts'
import { type FlowEdge, LoopNode, type LoopFlowNode, StepNode, type StepFlowNode, WayEdge } from './graph-parts.tsx'
import { type Box, place, type Placed } from './layout.ts'
import { markRun, NO_MARKS, type RunMarks } from './run-marks.ts'

type RunStep = RouterOutputs['runs']['listSteps']['steps'][number]

export type WorkflowGraphProps = {
  definition: Record<string, unknown>
  /** The steps of a run, whose path is marked. */
  steps?: readonly RunStep[] | undefined
  /** Findings of a check of the definition, shown on the nodes of its steps. */
  problems?: readonly { stepId: string | null; message: string }[] | undefined
  selected?: string | undefined
  onSelect?: ((stepId: string) => void) | undefined
}

const NODE_TYPES = { step: StepNode, loop: LoopNode }
const EDGE_TYPES = { way: WayEdge }
/** A graph that would be smaller than this is shown from its start instead of in its whole width. */
const READABLE_ZOOM = 0.55
const ZOOM = { min: 0.1, max: 1.5 }
/** With more nodes only those in view are in the document. */
const ALL_SHOWN_MAX = 250
const NO_PROBLEMS: readonly string[] = []

/** The steps of a workflow as a graph that lays itself out. */
export default function WorkflowGraph(props: WorkflowGraphProps) {
  const count = countSteps(props.definition['steps'])
  if (count > STEPS_MAX) {
    return (
      <p className="note">
        This workflow has {count} steps. A graph is drawn of at most {STEPS_MAX}.
      </p>
    )
  }
  return (
    <div className="graph" role="region" aria-label="Graph of the workflow">
      <ReactFlowProvider>
        <Graph {...props} />
      </ReactFlowProvider>
    </div>
  )
}

function Graph({ definition, steps, problems, selected, onSelect }: WorkflowGraphProps) {
  const graph = useMemo(() => toGraph(definition), [definition])
  const placed = useMemo(() => place(graph), [graph])
  const marks = useMemo(() => (steps ? markRun(graph, steps) : NO_MARKS), [graph, steps])
  const show = useView(placed)
  const choose = useLatest((id: string) => {
    const stepId = graph.nodes.find((node) => node.id === id)?.stepId
    if (stepId !== undefined) onSelect?.(stepId)
  })
  const focus = useLatest((id: string) => {
    const found = placed.nodes.find(({ node }) => node.id === id)
    if (found) show.reveal(found.box)
  })
  const nodes = useNodes(placed, marks, { problems, selected, onSelect: choose, onFocus: focus })
  const edges = useMemo(() => toFlowEdges(placed, marks), [placed, marks])
  const selectedBox = placed.nodes.find(({ node }) => selected !== undefined && node.stepId === selected)?.box
  const { reveal } = show
  useEffect(() => {
    if (selectedBox) reveal(selectedBox)
    // Only a new selection moves the view, not a change of the graph.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [selected])
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      minZoom={ZOOM.min}
      maxZoom={ZOOM.max}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      elementsSelectable={false}
      deleteKeyCode={null}
      selectionKeyCode={null}
      zoomOnScroll={false}
      zoomOnDoubleClick={false}
      preventScrolling={false}
      onlyRenderVisibleElements={nodes.length > ALL_SHOWN_MAX}
    >
      <Panel position="bottom-left">
        <div className="graph-controls" role="group" aria-label="View of the graph">
          <Button small aria-label="Zoom in" onClick={() => show.zoom(1.25)}>
            +
          </Button>
          <Button small aria-label="Zoom out" onClick={() => show.zoom(0.8)}>
            −
          </Button>
          <Button small aria-label="Fit the whole graph" onClick={() => show.whole()}>
            Fit
          </Button>
        </div>
      </Panel>
    </ReactFlow>
  )
}

/** A function that stays the same while what it calls changes, so that the nodes are not drawn again. */
function useLatest(call: (id: string) => void): (id: string) => void {
  const latest = useRef(call)
  useEffect(() => {
    latest.current = call
  })
  return useCallback((id) => latest.current(id), [])
}

/** Moves the view: at first to the whole width of the graph, or to its start where that would be too small to read. */
function useView({ width, height, nodes }: Placed) {
  const start = nodes[0]?.box
  const flow = useReactFlow()
  const size = useStore((store) => `${store.width} ${store.height}`)
  const [paneWidth = 0, paneHeight = 0] = size.split(' ').map(Number)
  const isShown = useRef(false)
  useEffect(() => {
    if (isShown.current || paneWidth === 0 || paneHeight === 0) return
    isShown.current = true
    const zoom = Math.max(Math.min(paneWidth / width, 1), READABLE_ZOOM)
    const isCut = width * zoom > paneWidth + 1
    const center = isCut && start ? start.x + start.width / 2 : width / 2
    const y = Math.max(0, Math.min(24, (paneHeight - height * zoom) / 2))
    void flow.setViewport({ x: paneWidth / 2 - center * zoom, y, zoom })
  }, [flow, width, height, start, paneWidth, paneHeight])
  return useMemo(() => {
    const reveal = ({ x, y, width: boxWidth, height: boxHeight }: Box) => {
      const view = flow.getViewport()
      const [left, top] = [x * view.zoom + view.x, y * view.zoom + view.y]
      const [right, bottom] = [left + boxWidth * view.zoom, top + boxHeight * view.zoom]
      if (left >= 0 && top >= 0 && right <= paneWidth && bottom <= paneHeight) return
      void flow.setCenter(x + boxWidth / 2, y + boxHeight / 2, { zoom: view.zoom })
    }
    const zoom = (factor: number) => void flow.zoomTo(flow.getZoom() * factor)
    return { reveal, zoom, whole: () => void flow.fitView({ padding: 0.05, maxZoom: 1 }) }
  }, [flow, paneWidth, paneHeight])
}

type Shared = Pick<WorkflowGraphProps, 'problems' | 'selected'> & {
  onSelect: (id: string) => void
  onFocus: (id: string) => void
}

function useNodes(placed: Placed, marks: RunMarks, { problems, selected, onSelect, onFocus }: Shared) {
  return useMemo(() => {
    const texts = new Map<string, string[]>()
    for (const { stepId, message } of problems ?? []) {
      if (stepId !== null) texts.set(stepId, [...(texts.get(stepId) ?? []), message])
    }
    const loops = placed.loops.map(({ id, name, box }): LoopFlowNode => ({
      ...toFlowBox(id, box),
      type: 'loop',
      data: { name },
      zIndex: -1,
    }))
    const steps = placed.nodes.map(({ node, box }): StepFlowNode => {
      const { stepId } = node
      const data = {
        node,
        mark: marks.nodes.get(node.id),
        problems: (stepId === undefined ? undefined : texts.get(stepId)) ?? NO_PROBLEMS,
        isSelected: stepId !== undefined && stepId === selected,
        onSelect,
        onFocus,
      }
      return { ...toFlowBox(node.id, box), type: 'step', data }
    })
    return [...loops, ...steps]
  }, [placed, marks, problems, selected, onSelect, onFocus])
}

function toFlowBox(id: string, { x, y, width, height }: Box) {
  return { id, position: { x, y }, width, height, draggable: false, selectable: false }
}

function toFlowEdges(placed: Placed, marks: RunMarks): FlowEdge[] {
  return placed.edges.map(({ edge: { id, source, target, label }, path, label: at }) => {
    const isTaken = marks.edges.has(id)
    return {
      id,
      source,
      target,
      type: 'way',
      data: { path, label, at, isTaken },
      // One marker for each color, as a marker does not take that of its line.
      markerEnd: {
        type: MarkerType.ArrowClosed,
        width: 14,
        height: 14,
        color: isTaken ? 'var(--accent)' : 'var(--muted)',
      },
    }
  })
}
