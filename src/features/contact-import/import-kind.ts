import type { Job as JobRow } from '../../models/jobs.ts'
import { type CsvPosition, type CsvRow, type CsvSource, readCsv } from '../../platform/csv/read-csv.ts'
import { AppError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { JobItem, JobKind, Portion } from '../jobs/job-kind.ts'
import { countStored } from '../jobs/queries.ts'
import { toStoreKey } from '../media/media-writes.ts'
import { type Outcome, storePersons, type StoreOptions } from '../contacts/bulk/bulk-contacts.ts'
import type { ItemError } from '../../trpc/bulk.ts'
import { addItem, type Person, readItems } from '../contacts/bulk/persons.ts'
import { toItem } from './columns.ts'
import { type EarlierLine, withEarlier } from './earlier-rows.ts'
import { ImportInput } from './schema.ts'

/** A row of the file. */
type Line = EarlierLine & { cells: string[] | undefined; problem: string | undefined }

const PORTION_ROWS = 500
/** A cell counts as a character more. */
const PORTION_CHARS = 1024 * 1024
/** The same with the rows without content: the worker shows that it is at work. */
const PORTION_ALL_ROWS = 20_000

/** Creates and changes contacts from a file, row by row in its order. */
export const contactsImport: JobKind<Line> = {
  type: 'contacts_import',
  role: 'agent',
  scope: 'contacts:write',

  isTrial: ({ input }) => ImportInput.parse(input).dryRun,

  async *read(scope, job) {
    const { cursor, total } = job
    // Nothing is behind the last row: a store has no part of a file from its end on.
    if (countStored(job) === total) return
    const start = { bytes: Number(cursor?.['bytes'] ?? 0), row: Number(cursor?.['row'] ?? 0) }
    const input = ImportInput.parse(job.input)
    const readFrom = (position: CsvPosition) => readPortions(scope, job, position)
    const readValid = (lines: Line[]) => toValid(lines, input).valid
    if (!input.dryRun) yield* readFrom(start)
    else yield* withEarlier(scope, job, { start, matchBy: input.matchBy, readFrom, toValid: readValid })
  },

  async apply(tx, { input }, lines) {
    const { dryRun, ...rest } = ImportInput.parse(input)
    if (!dryRun) return storeLines(tx, lines, rest)
    const { matchBy } = rest
    const earlier = lines.flatMap((line) => line.earlier ?? [])
    if (earlier.length > 0)
      await storePersons(tx, earlier, { mode: 'upsert', matchBy, startWorkflows: false, source: 'import' })
    const items = await storeLines(tx, lines, rest)
    // A contact that was created does not exist.
    return items.map((item) => (item.status === 'created' ? { ...item, targetId: null } : item))
  },
}

async function* readPortions(scope: Scope, { id, input }: JobRow, start: CsvPosition): AsyncGenerator<Portion<Line>> {
  const { delimiter } = ImportInput.parse(input)
  const key = toStoreKey(scope.tenantId, id)
  const open = (from: number) => scope.files.open(key, { start: from, end: Number.MAX_SAFE_INTEGER })
  let lines: Line[] = []
  let chars = 0
  let next = start
  let end = start
  for await (const { row, cells, problem, next: behind } of readRows({ delimiter, open }, start)) {
    const isBlank = cells?.length === 0
    if (row > 1 && !isBlank) lines.push({ line: row, cells, problem })
    end = behind
    chars += cells?.reduce((sum, cell) => sum + cell.length + 1, 0) ?? 0
    const isFull = lines.length >= PORTION_ROWS || chars >= PORTION_CHARS || behind.row - next.row >= PORTION_ALL_ROWS
    if (!isFull) continue
    next = behind
    yield { lines, cursor: next }
    lines = []
    chars = 0
  }
  if (lines.length > 0) yield { lines, cursor: end }
}

/** @throws Error without the code of the cause, which would say that the database cannot be reached */
async function* readRows(source: CsvSource, start: CsvPosition): AsyncGenerator<CsvRow> {
  try {
    yield* readCsv(source, start)
  } catch (error) {
    throw new Error('The file of the job cannot be read', { cause: error })
  }
}

/** Reads the contacts of rows. Each that cannot be read has an error. */
function toValid(lines: Line[], { columns, matchBy }: Pick<ImportInput, 'columns' | 'matchBy'>) {
  const errors = new Map<number, ItemError>()
  const readable: { line: number; item: Record<string, unknown> }[] = []
  for (const { line, cells, problem } of lines) {
    const item = cells ? toItem(cells, columns) : (problem ?? '')
    if (typeof item === 'string') errors.set(line, { code: 'row_invalid', message: item })
    else readable.push({ line, item })
  }
  const { valid, failed } = readItems(
    readable.map(({ item }) => item),
    matchBy,
  )
  const toLine = (index: number) => readable[index]?.line ?? 0
  for (const [index, error] of failed) errors.set(toLine(index), error)
  return { valid: valid.map(({ key, item, index }) => ({ key, item, index: toLine(index) })), errors }
}

async function storeLines(
  tx: Scope,
  lines: Line[],
  { columns, ...options }: Omit<ImportInput, 'dryRun'>,
): Promise<JobItem[]> {
  const { valid, errors } = toValid(lines, { columns, matchBy: options.matchBy })
  const outcomes = new Map<number, Outcome>()
  for (const [line, error] of errors) outcomes.set(line, { status: 'failed', error })
  for (const round of splitRounds(valid)) {
    for (const [{ indexes }, outcome] of await storeRound(tx, round, { ...options, source: 'import' }))
      for (const line of indexes) outcomes.set(line, outcome)
  }
  return lines.map(({ line }) => toJobItem(line, outcomes.get(line)))
}

/** Puts each further row of a person into a round of its own, so that rows have the effect that they have one by one. */
function splitRounds(valid: ReturnType<typeof readItems>['valid']): Person[][] {
  const rounds: Map<string, Person>[] = []
  for (const item of valid) {
    let persons = rounds.find((round) => !round.has(item.key))
    if (!persons) rounds.push((persons = new Map()))
    addItem(persons, item)
  }
  return rounds.map((persons) => [...persons.values()])
}

/** A limit of the workspace, such as that of tags, fails the rows that exceed it and no others. */
async function storeRound(tx: Scope, persons: Person[], options: StoreOptions): Promise<Map<Person, Outcome>> {
  try {
    return await storePersons(tx, persons, options)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, message } = error
    if (persons.length === 1)
      return new Map(persons.map((person) => [person, { status: 'failed', error: { code, message } }]))
    const half = Math.ceil(persons.length / 2)
    const first = await storeRound(tx, persons.slice(0, half), options)
    return new Map([...first, ...(await storeRound(tx, persons.slice(half), options))])
  }
}

function toJobItem(line: number, outcome: Outcome | undefined): JobItem {
  if (!outcome) throw new Error(`Line ${line} has no outcome`)
  return outcome.status === 'failed'
    ? { line, status: outcome.status, targetId: null, error: outcome.error }
    : { line, status: outcome.status, targetId: outcome.id, error: null }
}
