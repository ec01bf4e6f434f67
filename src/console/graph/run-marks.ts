import type { RouterOutputs } from '@parley/client'
import type { DefinitionGraph } from './definition-graph.ts'

export type RunStep = RouterOutputs['runs']['listSteps']['steps'][number]

/** The work of a run at a node; `visits` is how often. */
export type NodeMark = { status: RunStep['status']; visits: number }
export type RunMarks = { nodes: ReadonlyMap<string, NodeMark>; edges: ReadonlySet<string> }

export const NO_MARKS: RunMarks = { nodes: new Map(), edges: new Set() }

/** Finds the nodes and edges that a run took. */
export function markRun({ nodes, edges }: DefinitionGraph, steps: readonly RunStep[]): RunMarks {
  if (steps.length === 0) return NO_MARKS
  const ordered = steps.toSorted((one, other) => one.index - other.index)
  const ids = new Map(nodes.flatMap(({ id, stepId }) => (stepId === undefined ? [] : [[stepId, id] as const])))
  const marks = new Map<string, NodeMark>()
  for (const { stepId, status } of ordered) {
    const id = ids.get(stepId)
    if (id !== undefined) marks.set(id, { status, visits: (marks.get(id)?.visits ?? 0) + 1 })
  }
  const bySource = new Map<string, DefinitionGraph['edges']>()
  for (const edge of edges) {
    const ways = bySource.get(edge.source)
    if (ways) ways.push(edge)
    else bySource.set(edge.source, [edge])
  }
  const taken = new Set<string>()
  const triggers = nodes.filter(({ kind }) => kind === 'trigger')
  const [onlyTrigger] = triggers.length === 1 ? triggers : []
  // Which of several triggers started the run is not part of its steps.
  if (onlyTrigger) bySource.get(onlyTrigger.id)?.forEach(({ id }) => taken.add(id))
  ordered.forEach((step, index) => {
    const source = ids.get(step.stepId)
    const ways = source === undefined ? [] : (bySource.get(source) ?? [])
    const next = ordered[index + 1]
    const target = next && ids.get(next.stepId)
    const edge = next ? ways.find((way) => way.target === target) : findEnd(step, ways)
    if (!edge) return
    taken.add(edge.id)
    if (edge.target.startsWith('end of ')) marks.set(edge.target, { status: 'completed', visits: 1 })
  })
  return { nodes: marks, edges: taken }
}

/** The edge to the end that the last step took; undefined while its run is open or where that is not certain. */
function findEnd(
  { status, branch }: RunStep,
  ways: DefinitionGraph['edges'],
): DefinitionGraph['edges'][number] | undefined {
  if (status !== 'completed' && status !== 'skipped') return undefined
  const isEnd = ({ target }: { target: string }) => target.startsWith('end of ')
  const chosen = ways.find(({ branches }) => branch !== null && branches.includes(branch))
  if (chosen) return isEnd(chosen) ? chosen : undefined
  const open = ways.filter(({ branches }) => branches.length === 0)
  const [way] = open.length > 0 ? open : ways
  return way && isEnd(way) ? way : undefined
}
