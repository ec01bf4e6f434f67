import { describeCondition, describeStep, describeTrigger, cut, toTitle } from './describe-step.ts'
import { type JsonObject, toObject, toObjects, toText } from '../kit/narrow.ts'

/** More steps than this are not drawn. A definition that can be published has at most 500. */
export const STEPS_MAX = 500
const DEPTH_MAX = 10
const LABEL_MAX = 28

export type GraphNode = {
  id: string
  kind: 'trigger' | 'step' | 'end'
  /** The ID of the step; undefined for triggers, ends and steps without one. */
  stepId?: string | undefined
  title: string
  name: string
  detail: string
  /** True for a stop that ends its run as failed. */
  fails?: boolean
  /** The IDs of the nodes of the loops around it, the outermost first. */
  loops: readonly string[]
}

/** `branches` are the values of the field `branch` of the run steps that take this edge; none for the ordinary way on. */
export type GraphEdge = { id: string; source: string; target: string; label: string; branches: readonly string[] }

export type DefinitionGraph = { nodes: GraphNode[]; edges: GraphEdge[] }

type Place = {
  node: string
  step: JsonObject
  /** The place where it continues without a `next`: a step, the loop around it, or the end. */
  following: string
  loops: readonly Place[]
}

type Way = { to: string; label: string; branch?: string | undefined }

/** Counts the steps with those of loops. */
export function countSteps(steps: unknown, depth = 0): number {
  if (depth > DEPTH_MAX) return 0
  return toObjects(steps).reduce((sum, step) => sum + 1 + countSteps(step['steps'], depth + 1), 0)
}

/** Converts a definition to nodes and edges, also one with mistakes: what leads to unknown steps is left out. */
export function toGraph(definition: JsonObject): DefinitionGraph {
  const places = new Map<string, Place>()
  const first = collect(definition['steps'], { places, loops: [], after: END, prefix: '' })
  const triggers = toObjects(definition['triggers']).map(toTriggerNode)
  const starts: GraphNode[] = triggers.length > 0 ? triggers : [startNode()]
  const graph: DefinitionGraph = { nodes: [...starts, ...[...places.values()].map(toStepNode)], edges: [] }
  for (const { id } of starts) addEdges(graph, id, [{ to: first, label: '' }], places)
  for (const place of places.values()) addEdges(graph, place.node, listWays(place), places, place)
  return graph
}

const END = 'end'

type Collected = { places: Map<string, Place>; loops: readonly Place[]; after: string; prefix: string }

/** Adds the places of a list of steps, and returns the name of the first one. */
function collect(list: unknown, { places, loops, after, prefix }: Collected): string {
  if (loops.length > DEPTH_MAX) return after
  const steps = toObjects(list)
  const names = steps.map(({ id }, index) => {
    const name = toText(id) ?? `${prefix}step ${index + 1}`
    return places.has(name) ? `${prefix}${name} ${index + 1}` : name
  })
  for (const [index, step] of steps.entries()) {
    const node = names[index] ?? ''
    const place: Place = { node, step, following: names[index + 1] ?? after, loops }
    places.set(node, place)
    if (step['type'] === 'loop')
      collect(step['steps'], { places, loops: [...loops, place], after: node, prefix: `${node} ` })
  }
  return names[0] ?? after
}

function startNode(): GraphNode {
  return { id: 'trigger 0', kind: 'trigger', title: 'Start', name: 'No trigger', detail: '', loops: [] }
}

function toTriggerNode(trigger: JsonObject, index: number): GraphNode {
  const type = toText(trigger['type']) ?? 'trigger'
  return {
    id: `trigger ${index}`,
    kind: 'trigger',
    title: 'Trigger',
    name: toTitle(type),
    detail: describeTrigger(trigger),
    loops: [],
  }
}

function toStepNode({ node, step, loops }: Place): GraphNode {
  const id = toText(step['id'])
  return {
    id: node,
    kind: 'step',
    stepId: id,
    title: toTitle(toText(step['type']) ?? 'unknown type'),
    name: cut(toText(step['name']) ?? id ?? node, 40),
    detail: describeStep(step),
    ...(step['type'] === 'stop' && step['status'] === 'failed' ? { fails: true } : {}),
    loops: loops.map((loop) => loop.node),
  }
}

/** Lists the ways on from a step, in their order. */
function listWays({ node, step, following }: Place): Way[] {
  const next = toText(step['next'])
  const onward = next ?? following
  const own = step['disabled'] === true ? [] : (WAYS[toText(step['type']) ?? '']?.(step, onward) ?? [toNext(onward)])
  const ways = step['disabled'] === true ? [toNext(onward)] : own
  if (step['type'] === 'loop' && step['disabled'] !== true) {
    const [first] = toObjects(step['steps'])
    const body = toText(first?.['id']) ?? `${node} step 1`
    ways.unshift({ to: body, label: step['over'] === undefined ? 'while true' : 'each', branch: 'iteration' })
  }
  if (step['if'] !== undefined && !ways.some(({ to }) => to === onward)) ways.push({ to: onward, label: 'skipped' })
  const timeout = toText(step['onTimeout'])
  if (timeout !== undefined) {
    const length = toText(step['timeout'])
    ways.push({ to: timeout, label: length === undefined ? 'timeout' : `after ${cut(length, 12)}`, branch: 'timeout' })
  }
  const error = toText(step['onError'])
  if (error !== undefined && error !== 'fail' && error !== 'continue') ways.push({ to: error, label: 'on error' })
  return ways
}

const toNext = (to: string, label = ''): Way => ({ to, label })

const WAYS: Readonly<Record<string, (step: JsonObject, onward: string) => Way[]>> = {
  branch: ({ cases, else: other }, onward) => [
    ...toObjects(cases).map((one, index) => {
      const name = toText(one['name'])
      return {
        to: String(one['next']),
        label: name ?? describeCondition(one['if']),
        branch: name ?? `case ${index + 1}`,
      }
    }),
    { to: toText(other) ?? onward, label: 'else', branch: 'else' },
  ],
  split: ({ paths }) => {
    const all = toObjects(paths)
    const total = all.reduce((sum, { weight }) => sum + (Number(weight) || 0), 0)
    return all.map((path, index) => {
      const name = toText(path['name']) ?? `path ${index + 1}`
      const share = total > 0 ? ` ${Math.round(((Number(path['weight']) || 0) / total) * 100)}%` : ''
      return { to: String(path['next']), label: `${cut(name, 20)}${share}`, branch: name }
    })
  },
  ask: listChoices,
  wait_for_reply: listChoices,
  loop: (_, onward) => [{ to: onward, label: 'done', branch: 'done' }],
  throttle: ({ else: other }, onward) => [
    { to: onward, label: 'allowed', branch: 'allowed' },
    { to: toText(other) ?? END, label: 'too many', branch: 'else' },
  ],
  goto: ({ to }) => [toNext(String(to))],
  stop: () => [],
  handoff: ({ resumeAfter, next }, onward) => [toNext(resumeAfter === undefined ? (toText(next) ?? END) : onward)],
}

/** The choices with steps of their own, then the way of all other answers. */
function listChoices({ expect, message, onInvalid }: JsonObject, onward: string): Way[] {
  const options = toObjects(toObject(expect)['options'] ?? toObject(message)['buttons'])
  const ways: Way[] = options.flatMap(({ id, title, next }) => {
    const to = toText(next)
    const name = String(id)
    return to === undefined ? [] : [{ to, label: toText(title) ?? name, branch: name }]
  })
  const isDecided = toObject(expect)['type'] === 'choice' && options.length > 0 && ways.length === options.length
  if (!isDecided) ways.push(toNext(onward, ways.length > 0 ? 'other' : ''))
  const invalid = toText(onInvalid)
  return invalid === undefined ? ways : [...ways, { to: invalid, label: 'no valid answer', branch: 'invalid' }]
}

/** Adds one edge to each target. What ends the run leads to an end of its own, so that no edge crosses the graph. */
function addEdges(
  { nodes, edges }: DefinitionGraph,
  source: string,
  ways: readonly Way[],
  places: ReadonlyMap<string, Place>,
  from?: Place,
): void {
  const found = new Map<string, GraphEdge>()
  for (const { to, label, branch } of ways) {
    const resolved = resolve(to, from)
    const target = resolved === END ? `end of ${source}` : resolved
    if (resolved !== END && !places.has(resolved)) continue
    const known = found.get(target)
    const labels = [known?.label, cut(label, LABEL_MAX)].filter(Boolean).join(' · ')
    const branches = [...(known?.branches ?? []), ...(branch === undefined ? [] : [branch])]
    found.set(target, { id: `${source} > ${target}`, source, target, label: cut(labels, 2 * LABEL_MAX), branches })
    if (resolved === END && !known) nodes.push(endNode(target))
  }
  edges.push(...found.values())
}

function endNode(id: string): GraphNode {
  // Outside of all loops, as it leaves them.
  return { id, kind: 'end', title: 'End', name: 'End', detail: '', loops: [] }
}

/** Resolves `continue` and `break`, which name the loop and what follows it. */
function resolve(target: string, from: Place | undefined): string {
  const loop = from?.loops.at(-1)
  if (loop === undefined || (target !== 'continue' && target !== 'break')) return target
  if (target === 'continue') return loop.node
  return resolve(toText(loop.step['next']) ?? loop.following, loop)
}
