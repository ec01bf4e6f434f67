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
/** Filters that look up the path in their first argument in each entry of a list, and the longest path. */
const LOOKUPS: ReadonlySet<string> = new Set('sort sort_natural where reject find map sum'.split(' '))
const PATH_LENGTH_MAX = 100
/** Per entry, as each of them parses the path again. */
const PATH_CHARACTER_WORK = 2
const BOUNDED: ReadonlySet<string> = new Set('sort sort_natural where reject find map uniq sum'.split(' '))
/** Filters that do not look into entries that are lists or objects. */
const LISTS: ReadonlySet<string> = new Set(
  'first last default where reject find map sum uniq reverse slice compact concat push'.split(' '),
)
const SORTS: ReadonlySet<string> = new Set(['sort', 'sort_natural'])

const CALL_WORK = 10
/** The offset of a time zone costs this, and so does each name of a weekday or month. */
const DATE_WORK = 1000
const DATE_NAME = /%[^%A-Za-z]*[aAbBh]/g
const CHARACTER_WORK = 0.25
const SORTED_CHARACTER_WORK = 0.5

/** Charges the call of a filter before it is made. @throws StepError `budget_exceeded` */
export function chargeFilter(name: string, args: readonly unknown[]): void {
  const [value, argument] = args
  if (BOUNDED.has(name) && Array.isArray(value) && value.length > LIST_MAX) throw budgetExceededError()
  if (LOOKUPS.has(name)) chargeLookups(value, toPlainText(argument).length)
  if (name === 'date') spendWork(DATE_WORK * (1 + countMatches(toPlainText(argument), DATE_NAME)))
  spendWork(args.reduce<number>((sum, arg) => sum + workFor(name, arg), CALL_WORK))
}

function chargeLookups(list: unknown, pathLength: number): void {
  if (pathLength > PATH_LENGTH_MAX) throw budgetExceededError()
  if (Array.isArray(list)) spendWork(list.length * pathLength * PATH_CHARACTER_WORK)
}

function workFor(name: string, value: unknown): number {
  if (typeof value === 'string') return value.length * CHARACTER_WORK
  if (typeof value !== 'object' || value === null) return 0
  const perEntry = ENTRY_WORK[name] ?? 1
  if (perEntry === 0) return 0
  if (!Array.isArray(value)) return toPlainText(value).length * CHARACTER_WORK
  const perCharacter = SORTS.has(name) ? SORTED_CHARACTER_WORK : CHARACTER_WORK
  return value.length * perEntry + countCharacters(name, value) * perCharacter
}

/** Filters of texts, `join` and the sorts convert entries to text, at any depth. */
function countCharacters(name: string, list: readonly unknown[]): number {
  if (!LISTS.has(name)) return toPlainText(list).length
  return list.reduce<number>((sum, entry) => sum + (typeof entry === 'string' ? entry.length : 0), 0)
}

function countMatches(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length
}

function toPlainText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
