import { BREAK, CONTINUE, END } from '../language/definition/names.ts'
import { problemAt, type Problem } from '../language/definition/problems.ts'
import { resolveTarget, type CompiledDefinition, type CompiledStep } from '../model/compiled.ts'
import type { Target } from '../model/step.ts'
import { compileStep, type ParsedStep } from './compile-step.ts'

/** `waits`: unless it is skipped, it waits before it continues. */
type Node = { step: CompiledStep; parsed: ParsedStep; next: string[]; waits: boolean }

/** Finds cycles without a wait, and steps that cannot be reached. */
export function checkGraph(
  compiled: CompiledDefinition,
  steps: ParsedStep[],
): { errors: Problem[]; warnings: Problem[] } {
  const nodes = new Map<string, Node>()
  for (const [index, step] of compiled.steps.entries()) {
    const parsed = steps[index]
    if (!parsed) continue
    const next = listSuccessors(step, parsed).map(({ to }) => resolveTarget(compiled, step, to))
    nodes.set(step.id, { step, parsed, next, waits: !step.disabled && parsed.type.waits(parsed.config) })
  }
  const reachable = findReachable(compiled.steps[0]?.id ?? END, nodes)
  const unreachable = [...nodes.values()]
    .filter(({ step }) => !reachable.has(step.id))
    .map(({ parsed }) => problemAt(parsed.location, '', 'unreachable_step', 'cannot be reached'))
  const certain = findCycle(reachable, nodes, ({ next, waits }) => (waits ? [] : next))
  const nextIfSkipped = ({ next, waits, step }: Node) =>
    !waits ? next : step.if ? [resolveTarget(compiled, step, step.skip)] : []
  const possible = certain.length > 0 ? [] : findCycle(reachable, nodes, nextIfSkipped)
  return {
    errors: reportCycle(certain, 'infinite_loop', 'can repeat for ever without a wait'),
    warnings: [
      ...unreachable,
      ...reportCycle(possible, 'possible_infinite_loop', 'can repeat for ever if a wait is skipped'),
    ],
  }
}

/**
 * Reports successors that do not exist. An invalid step is known by its id at least, so that a reference to it is no
 * problem of its own.
 */
export function checkTargets(steps: ParsedStep[], invalidIds: ReadonlySet<string>): Problem[] {
  const lists = new Map(steps.map(({ base, loops }) => [base.id, loops.join()]))
  return steps.flatMap((step) => findUnknownTargets(step, { lists, invalidIds }))
}

/** Lists every successor that the step can have. */
function listSuccessors(step: CompiledStep, { type, config }: ParsedStep): Target[] {
  const fallthrough = type.fallthrough(config)
  const targets: Target[] = step.disabled ? [] : [...type.targets(config)]
  if (!step.disabled && fallthrough !== 'never') targets.push({ to: step.next, path: 'next' })
  if (!step.disabled && step.body !== null) targets.push({ to: step.body, path: 'steps' })
  if (step.disabled || step.if) targets.push({ to: step.skip, path: 'next' })
  if (step.onTimeout) targets.push({ to: step.onTimeout, path: 'onTimeout' })
  if (step.onError === 'continue') targets.push({ to: step.skip, path: 'next' })
  else if (step.onError !== 'fail') targets.push({ to: step.onError, path: 'onError' })
  return targets
}

type Known = { lists: ReadonlyMap<string, string>; invalidIds: ReadonlySet<string> }

/** Includes targets that are never used, such as the `next` of a step that ends the run. */
function findUnknownTargets(parsed: ParsedStep, known: Known): Problem[] {
  const { base, type, config, location, loops } = parsed
  const successors = listSuccessors(compileStep(parsed), parsed).filter(({ path }) => path !== 'steps')
  const targets = [...successors, ...type.targets(config), ...(base.next ? [{ to: base.next, path: 'next' }] : [])]
  const messages = new Map(
    targets.flatMap(({ to, path }): [string, string][] => {
      const message = checkTarget(to, loops, known)
      return message === undefined ? [] : [[path, message]]
    }),
  )
  return [...messages].map(([path, message]) => problemAt(location, path, 'unknown_target', message))
}

function checkTarget(to: string, loops: string[], { lists, invalidIds }: Known): string | undefined {
  if (to === END || invalidIds.has(to)) return undefined
  if (to === CONTINUE || to === BREAK) {
    return loops.length > 0 ? undefined : `names "${to}", which is only allowed within a loop`
  }
  const list = lists.get(to)
  if (list === undefined) return `names "${to}", which is not a step of this workflow`
  return list === loops.join()
    ? undefined
    : `names "${to}", which is in another list of steps: leave a loop with break or end`
}

function findReachable(start: string, nodes: ReadonlyMap<string, Node>): Set<string> {
  const reachable = new Set<string>()
  const pending = [start]
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const node = nodes.get(id)
    if (!node || reachable.has(id)) continue
    reachable.add(id)
    pending.push(...node.next)
  }
  return reachable
}

/**
 * Finds steps that can follow one another for ever. Removes steps without a predecessor or without a successor until
 * only cycles are left. The way back to a loop is not a cycle: its iterations are limited.
 */
function findCycle(
  reachable: ReadonlySet<string>,
  nodes: ReadonlyMap<string, Node>,
  successors: (node: Node) => string[],
): Node[] {
  const remaining = new Set(reachable)
  const remainingSuccessors = (id: string) => {
    const node = nodes.get(id)
    return node ? successors(node).filter((to) => remaining.has(to) && !node.step.loops.includes(to)) : []
  }
  for (let size = -1; size !== remaining.size;) {
    size = remaining.size
    const entered = new Set([...remaining].flatMap(remainingSuccessors))
    for (const id of remaining) if (!entered.has(id) || remainingSuccessors(id).length === 0) remaining.delete(id)
  }
  return [...nodes.values()].filter(({ step }) => remaining.has(step.id))
}

function reportCycle(cycle: Node[], code: string, message: string): Problem[] {
  const [first] = cycle
  if (!first) return []
  const ids = cycle.map(({ step }) => step.id).join(', ')
  return [problemAt(first.parsed.location, '', code, `${message} (${ids}): add a wait to one of these steps`)]
}
