import type { Problem } from '../../engine/language/definition/problems.ts'

const PROBLEMS_MAX = 100

/** The first problems of a list that may be long, and the number of all. */
export type ProblemList = { items: Problem[]; total: number }

export function toProblemList(problems: Problem[]): ProblemList {
  return { items: problems.slice(0, PROBLEMS_MAX), total: problems.length }
}

/** Joins lists to one of at most 100 problems, of which the last one says how many are left out. */
export function joinProblems(...lists: ProblemList[]): Problem[] {
  const items = lists.flatMap((list) => list.items)
  const total = lists.reduce((sum, list) => sum + list.total, 0)
  if (total <= PROBLEMS_MAX) return items
  const listed = items.slice(0, PROBLEMS_MAX - 1)
  const message = `The definition has ${total - listed.length} more problems. Fix the listed ones first`
  return [...listed, { stepId: null, code: 'more_problems', path: '', message }]
}
