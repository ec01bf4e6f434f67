import { BREAK, CONTINUE, END } from '../language/definition/names.ts'
import { describeFindings, type Finding, problemAt, type Problem } from '../language/definition/problems.ts'
import { resolveTarget, type CompiledStep } from '../model/compiled.ts'
import type { Target } from '../model/step.ts'
import { compileStep, compileSteps, type ParsedStep } from './compile-step.ts'

/** `waits`: unless it is skipped, it waits before it continues. */
type Node = { step: CompiledStep; parsed: ParsedStep; next: string[]; waits: boolean }

/**
 * Finds cycles without a wait, and steps that cannot be reached. The latter only if the steps are complete: an invalid step
 * or target may be what leads to them. Without all steps, a cycle is found if the steps from the start to it are valid.
 */
export function checkGraph(
  steps: ParsedStep[],
  { start, isComplete }: { start: string | null; isComplete: boolean },
): { errors: Problem[]; warnings: Problem[] } {
  const compiled = compileSteps(steps)
  const nodes = new Map<string, Node>()
  for (const [index, step] of compiled.steps.entries()) {
    const parsed = steps[index]
    if (!parsed) continue
    const next = listSuccessors(step, parsed).map(({ to }) => resolveTarget(compiled, step, to))
    nodes.set(step.id, { step, parsed, next, waits: !step.disabled && parsed.type.waits(parsed.config) })
  }
  const reachable = findReachable(start ?? END, nodes)
  const certain = findCycle(reachable, nodes, ({ next, waits }) => (waits ? [] : next))
  const nextIfSkipped = ({ next, waits, step }: Node) =>
    !waits ? next : step.if ? [resolveTarget(compiled, step, step.skip)] : []
  const possible = certain.length > 0 ? [] : findCycle(reachable, nodes, nextIfSkipped)
  return {
    errors: reportCycle(certain, 'infinite_loop', 'can repeat forever without waiting. Add a step that waits'),
    warnings: [
      ...(isComplete ? reportUnreachable(nodes, reachable) : []),
      ...reportCycle(
        possible,
        'possible_infinite_loop',
        'can repeat forever if a wait is skipped. Add one without a condition',
      ),
    ],
  }
}

function reportUnreachable(nodes: ReadonlyMap<string, Node>, reachable: ReadonlySet<string>): Problem[] {
  return [...nodes.values()]
    .filter(({ step }) => !reachable.has(step.id))
    .map(({ parsed }) => problemAt(parsed.location, '', 'unreachable_step', 'cannot be reached'))
}

/**
 * Reports successors that do not exist. An invalid step is known by its id at least, so that a reference to it is no
 * problem of its own.
 */
export function checkTargets(steps: ParsedStep[], invalidIds: ReadonlySet<string>): Problem[] {
  const lists = new Map(steps.map(({ base, loops }) => [base.id, loops.join()]))
  const names = [...lists.keys(), ...invalidIds, END]
  return describeFindings(steps.flatMap((step) => findUnknownTargets(step, { lists, invalidIds, names })))
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

type Known = { lists: ReadonlyMap<string, string>; invalidIds: ReadonlySet<string>; names: readonly string[] }

/** Includes targets that are never used, such as the `next` of a step that ends the run. */
function findUnknownTargets(parsed: ParsedStep, known: Known): Finding[] {
  const { base, type, config, location, loops } = parsed
  const successors = listSuccessors(compileStep(parsed), parsed).filter(({ path }) => path !== 'steps')
  const targets = [...successors, ...type.targets(config), ...(base.next ? [{ to: base.next, path: 'next' }] : [])]
  const problems = new Map(
    targets.flatMap(({ to, path }) => {
      const problem = checkTarget(to, loops, known)
      return problem ? [[path, problem] as const] : []
    }),
  )
  return [...problems].map(([at, problem]) => ({ location, at, code: 'unknown_target', ...problem }))
}

function checkTarget(
  to: string,
  loops: string[],
  { lists, invalidIds, names }: Known,
): Pick<Finding, 'text' | 'near'> | undefined {
  if (to === END || invalidIds.has(to)) return undefined
  if (to === CONTINUE || to === BREAK) {
    return loops.length > 0 ? undefined : { text: `names "${to}", which is only allowed within a loop` }
  }
  const list = lists.get(to)
  if (list === undefined) {
    return { text: `names "${to}", which is not a step of this workflow`, near: { name: to, names } }
  }
  return list === loops.join()
    ? undefined
    : { text: `names "${to}", which is in another list of steps: leave a loop with break or end` }
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
  const after = new Map([...reachable].map((id): [string, string[]] => [id, []]))
  const before = new Map([...reachable].map((id): [string, string[]] => [id, []]))
  for (const id of reachable) {
    const node = nodes.get(id)
    for (const to of node ? successors(node) : []) {
      if (!reachable.has(to) || node?.step.loops.includes(to)) continue
      after.get(id)?.push(to)
      before.get(to)?.push(id)
    }
  }
  const remaining = new Set(reachable)
  removeWithout(before, after, remaining)
  removeWithout(after, before, remaining)
  return [...nodes.values()].filter(({ step }) => remaining.has(step.id))
}

type Neighbours = ReadonlyMap<string, readonly string[]>

/** Removes the steps that have none of `needed` left, and looks at each connection once. `others` are the opposite ones. */
function removeWithout(needed: Neighbours, others: Neighbours, remaining: Set<string>): void {
  const left = new Map(
    [...remaining].map((id) => [id, (needed.get(id) ?? []).filter((to) => remaining.has(to)).length]),
  )
  const pending = [...remaining].filter((id) => left.get(id) === 0)
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    remaining.delete(id)
    for (const other of others.get(id) ?? []) {
      const count = (left.get(other) ?? 0) - 1
      left.set(other, count)
      if (count === 0) pending.push(other)
    }
  }
}

const CYCLE_IDS_MAX = 10

function reportCycle(cycle: Node[], code: string, text: string): Problem[] {
  const [first] = cycle
  if (!first) return []
  const { stepId, path } = first.parsed.location
  const ids = cycle.slice(0, CYCLE_IDS_MAX).map(({ step }) => step.id)
  const names = ids.length < cycle.length ? [...ids, `${cycle.length - ids.length} more`] : ids
  const [last = '', ...others] = names.reverse()
  const subject = others.length > 0 ? `Steps ${others.reverse().join(', ')} and ${last}` : `Step ${last}`
  return [{ stepId, path, code, message: `${subject} ${text}` }]
}
