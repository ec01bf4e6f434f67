import { budgetExceededError, spendWork } from './work-budget.ts'

/** Longest list for filters that look into its entries. */
const LIST_MAX = 10_000

/** Units of work per entry of a list. */
const ENTRY_WORK: Readonly<Record<string, number>> = {
  size: 0,
  first: 0,
  last: 0,
  default: 0,
  sort: 20,
  sort_natural: 20,
  where: 25,
  reject: 25,
  find: 25,
  map: 10,
  sum: 10,
}
const BOUNDED: ReadonlySet<string> = new Set('sort sort_natural where reject find map uniq sum'.split(' '))
const SORTS: ReadonlySet<string> = new Set(['sort', 'sort_natural'])

const CALL_WORK = 10
const CHARACTER_WORK = 0.25
const SORTED_CHARACTER_WORK = 0.5

/** Charges the call of a filter before it is made. @throws StepError `budget_exceeded` */
export function chargeFilter(name: string, args: readonly unknown[]): void {
  const [list] = args
  if (BOUNDED.has(name) && Array.isArray(list) && list.length > LIST_MAX) throw budgetExceededError()
  spendWork(args.reduce<number>((sum, arg) => sum + workFor(name, arg), CALL_WORK))
}

function workFor(name: string, value: unknown): number {
  if (typeof value === 'string') return value.length * CHARACTER_WORK
  if (!Array.isArray(value)) return 0
  const perEntry = ENTRY_WORK[name] ?? 1
  if (perEntry === 0) return 0
  const perCharacter = SORTS.has(name) ? SORTED_CHARACTER_WORK : CHARACTER_WORK
  const characters = value.reduce<number>((sum, entry) => sum + (typeof entry === 'string' ? entry.length : 0), 0)
  return value.length * perEntry + characters * perCharacter
}
