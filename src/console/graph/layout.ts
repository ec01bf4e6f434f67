import { Graph, layout } from '@dagrejs/dagre'
import type { DefinitionGraph, GraphEdge, GraphNode } from './definition-graph.ts'

export type Point = { x: number; y: number }
export type Box = Point & { width: number; height: number }
export type PlacedNode = { node: GraphNode; box: Box }
export type PlacedEdge = { edge: GraphEdge; path: string; label: Point }
export type PlacedLoop = { id: string; name: string; box: Box }
export type Placed = { nodes: PlacedNode[]; edges: PlacedEdge[]; loops: PlacedLoop[]; width: number; height: number }

const WIDTH = 216
const CHARACTER = 6.2
const LABEL_HEIGHT = 18

function toSize({ kind, detail }: GraphNode): { width: number; height: number } {
  if (kind === 'end') return { width: 52, height: 24 }
  return { width: WIDTH, height: detail === '' ? 48 : 66 }
}

/** Lays a graph out from top to bottom, with the steps of a loop in a frame below it. */
export function place({ nodes, edges }: DefinitionGraph): Placed {
  const graph = new Graph({ compound: true })
  graph.setGraph({ rankdir: 'TB', nodesep: 28, ranksep: 36, edgesep: 16, marginx: 16, marginy: 16 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const node of nodes) graph.setNode(node.id, toSize(node))
  const loops = new Map<string, string>()
  for (const { id, loops: around } of nodes) {
    around.forEach((loop, index) => {
      const frame = `frame of ${loop}`
      if (!loops.has(frame)) {
        graph.setNode(frame, {})
        const outer = around[index - 1]
        if (outer !== undefined) graph.setParent(frame, `frame of ${outer}`)
      }
      loops.set(frame, loop)
    })
    const inner = around.at(-1)
    if (inner !== undefined) graph.setParent(id, `frame of ${inner}`)
  }
  for (const { source, target, label } of edges) {
    const size = label === '' ? {} : { width: label.length * CHARACTER + 12, height: LABEL_HEIGHT, labelpos: 'c' }
    graph.setEdge(source, target, size)
  }
  layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  return {
    nodes: nodes.map((node) => ({ node, box: toBox(graph.node(node.id)) })),
    edges: edges.map((edge) => {
      const { points = [], x, y } = graph.edge(edge.source, edge.target)
      return { edge, path: toPath(points), label: { x: x ?? 0, y: y ?? 0 } }
    }),
    loops: [...loops].map(([frame, name]) => ({ id: frame, name, box: toBox(graph.node(frame)) })),
    width,
    height,
  }
}

function toBox({ x, y, width, height }: Partial<Box>): Box {
  const size = { width: width ?? 0, height: height ?? 0 }
  return { x: (x ?? 0) - size.width / 2, y: (y ?? 0) - size.height / 2, ...size }
}

/** A line through points that bends smoothly between them. */
function toPath(points: readonly Point[]): string {
  const [start, ...others] = points
  if (!start) return ''
  const parts = [`M${round(start)}`]
  others.forEach((point, index) => {
    const next = others[index + 1]
    if (next) parts.push(`Q${round(point)} ${round({ x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`)
    else parts.push(`L${round(point)}`)
  })
  return parts.join(' ')
}

function round({ x, y }: Point): string {
  return `${Math.round(x * 10) / 10},${Math.round(y * 10) / 10}`
}
