import { compileStep, type ParsedStep } from './compile-step.ts'
import { resolveTarget, type CompiledDefinition, type CompiledStep } from '../model/compiled.ts'
import { BREAK, CONTINUE, END } from '../language/definition/names.ts'
import { problemAt, type Problem } from '../language/definition/problems.ts'
import type { Target } from '../model/step.ts'

/** `waits`: unless it is passed over, it waits before it goes on. */
type Node = { step: CompiledStep; read: ParsedStep; ways: string[]; waits: boolean }

/** Where the steps lead: round in a circle, or never to some of them. */
export function checkGraph(
  compiled: CompiledDefinition,
  reads: ParsedStep[],
): { errors: Problem[]; warnings: Problem[] } {
  const nodes = new Map<string, Node>()
  for (const [index, step] of compiled.steps.entries()) {
    const read = reads[index]
    if (!read) continue
    const ways = waysOf(step, read).map(({ to }) => resolveTarget(compiled, step, to))
    nodes.set(step.id, { step, read, ways, waits: !step.disabled && read.type.waits(read.config) })
  }
  const reached = reachFrom(compiled.steps[0]?.id ?? END, nodes)
  const warnings = [...nodes.values()]
    .filter(({ step }) => !reached.has(step.id))
    .map(({ read }) => problemAt(read.place, '', 'unreachable_step', 'no way leads here'))
  const restless = findCircle(reached, nodes, ({ ways, waits }) => (waits ? [] : ways))
  const passing = ({ ways, waits, step }: Node) =>
    !waits ? ways : step.if ? [resolveTarget(compiled, step, step.skip)] : []
  const perhaps = restless.length > 0 ? [] : findCircle(reached, nodes, passing)
  return {
    errors: tellCircle(restless, 'infinite_loop', 'can go round for ever without a wait'),
    warnings: [
      ...warnings,
      ...tellCircle(perhaps, 'possible_infinite_loop', 'can go round for ever if a wait is passed over'),
    ],
  }
}

/**
 * Ways to what is not there. Of a step that cannot be read no more than its id is known, and leading there is no
 * mistake: it is told even while other mistakes are left.
 */
export function checkTargets(steps: ParsedStep[], unread: ReadonlySet<string>): Problem[] {
  const lists = new Map(steps.map(({ base, loops }) => [base.id, loops.join()]))
  return steps.flatMap((step) => unknownTargets(step, { lists, unread }))
}

/** Every way on that can be taken. */
function waysOf(step: CompiledStep, { type, config }: ParsedStep): Target[] {
  const fallthrough = type.fallthrough(config)
  const ways: Target[] = step.disabled ? [] : [...type.targets(config)]
  if (!step.disabled && fallthrough !== 'never') ways.push({ to: step.next, path: 'next' })
  if (!step.disabled && step.body !== null) ways.push({ to: step.body, path: 'steps' })
  if (step.disabled || step.if) ways.push({ to: step.skip, path: 'next' })
  if (step.onTimeout) ways.push({ to: step.onTimeout, path: 'onTimeout' })
  if (step.onError === 'continue') ways.push({ to: step.skip, path: 'next' })
  else if (step.onError !== 'fail') ways.push({ to: step.onError, path: 'onError' })
  return ways
}

type Known = { lists: ReadonlyMap<string, string>; unread: ReadonlySet<string> }

/** Also of ways that are never taken, such as the `next` of a step that stops the run. */
function unknownTargets(read: ParsedStep, known: Known): Problem[] {
  const { base, type, config, place, loops } = read
  const ways = waysOf(compileStep(read), read).filter(({ path }) => path !== 'steps')
  const named = [...ways, ...type.targets(config), ...(base.next ? [{ to: base.next, path: 'next' }] : [])]
  const refused = new Map(
    named.flatMap(({ to, path }): [string, string][] => {
      const what = refusalOf(to, loops, known)
      return what === undefined ? [] : [[path, what]]
    }),
  )
  return [...refused].map(([path, what]) => problemAt(place, path, 'unknown_target', what))
}

function refusalOf(to: string, loops: string[], { lists, unread }: Known): string | undefined {
  if (to === END || unread.has(to)) return undefined
  if (to === CONTINUE || to === BREAK) {
    return loops.length > 0 ? undefined : `leads to "${to}", which is for the steps of a loop`
  }
  const list = lists.get(to)
  if (list === undefined) return `leads to "${to}", which is no step of this workflow`
  return list === loops.join()
    ? undefined
    : `leads to "${to}", which is in another list of steps: a loop is left by break or end`
}

function reachFrom(start: string, nodes: ReadonlyMap<string, Node>): Set<string> {
  const reached = new Set<string>()
  const ahead = [start]
  for (let id = ahead.pop(); id !== undefined; id = ahead.pop()) {
    const node = nodes.get(id)
    if (!node || reached.has(id)) continue
    reached.add(id)
    ahead.push(...node.ways)
  }
  return reached
}

/**
 * Steps that can follow one another for ever by the given ways. What leads into such a circle, or out of it, is
 * stripped away from both ends until only circles are left. The way back to a loop is no such circle: its rounds are
 * counted.
 */
function findCircle(
  reached: ReadonlySet<string>,
  nodes: ReadonlyMap<string, Node>,
  waysOn: (node: Node) => string[],
): Node[] {
  const left = new Set(reached)
  const waysWithin = (id: string) => {
    const node = nodes.get(id)
    return node ? waysOn(node).filter((to) => left.has(to) && !node.step.loops.includes(to)) : []
  }
  for (let before = -1; before !== left.size;) {
    before = left.size
    const entered = new Set([...left].flatMap(waysWithin))
    for (const id of left) if (!entered.has(id) || waysWithin(id).length === 0) left.delete(id)
  }
  return [...nodes.values()].filter(({ step }) => left.has(step.id))
}

function tellCircle(circle: Node[], code: string, what: string): Problem[] {
  const [first] = circle
  if (!first) return []
  const named = circle.map(({ step }) => step.id).join(', ')
  return [problemAt(first.read.place, '', code, `${what} (${named}): let one of these steps wait`)]
}
