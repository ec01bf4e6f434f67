import { readCsv } from '../../platform/csv/read-csv.ts'
import { AppError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { JobItem, JobKind } from '../jobs/job-kind.ts'
import { countStored } from '../jobs/queries.ts'
import { toStoreKey } from '../media/media-writes.ts'
import { type Outcome, storePersons, type StoreOptions } from '../contacts/bulk/bulk-contacts.ts'
import type { ItemError } from '../../trpc/bulk.ts'
import { addItem, type Person, readItems } from '../contacts/bulk/persons.ts'
import { toItem } from './columns.ts'
import { ImportInput } from './schema.ts'

/** A row of the file. The next one begins at a byte of the stored file. */
type Line = { line: number; cells: string[] | undefined; problem: string | undefined }

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

  async *read(scope, job) {
    const { id, input, cursor, total } = job
    // Nothing is behind the last row: a store has no part of a file from its end on.
    if (countStored(job) === total) return
    const { delimiter } = ImportInput.parse(input)
    const key = toStoreKey(scope.tenantId, id)
    const open = (start: number) => scope.files.open(key, { start, end: Number.MAX_SAFE_INTEGER })
    const start = { bytes: Number(cursor?.['bytes'] ?? 0), row: Number(cursor?.['row'] ?? 0) }
    let lines: Line[] = []
    let chars = 0
    let next = start
    let end = start
    for await (const { row, cells, problem, next: behind } of readCsv({ delimiter, open }, start)) {
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
  },

  async apply(tx, { input }, lines) {
    const { dryRun, ...rest } = ImportInput.parse(input)
    return dryRun ? undo(tx, (inner) => storeLines(inner, lines, rest)) : storeLines(tx, lines, rest)
  },
}

class Undone extends Error {}

/** Does work in a transaction that is rolled back. */
async function undo(tx: Scope, work: (inner: Scope) => Promise<JobItem[]>): Promise<JobItem[]> {
  let items: JobItem[] = []
  try {
    await tx.transaction(async (inner) => {
      items = await work(inner)
      throw new Undone()
    })
  } catch (error) {
    if (!(error instanceof Undone)) throw error
  }
  // A contact that was created does not exist.
  return items.map((item) => (item.status === 'created' ? { ...item, targetId: null } : item))
}

async function storeLines(
  tx: Scope,
  lines: Line[],
  { columns, ...options }: Omit<ImportInput, 'dryRun'>,
): Promise<JobItem[]> {
  const errors = new Map<number, ItemError>()
  const readable: { line: number; item: Record<string, unknown> }[] = []
  for (const { line, cells, problem } of lines) {
    const item = cells ? toItem(cells, columns) : (problem ?? '')
    if (typeof item === 'string') errors.set(line, { code: 'row_invalid', message: item })
    else readable.push({ line, item })
  }
  const { valid, failed } = readItems(
    readable.map(({ item }) => item),
    options.matchBy,
  )
  const outcomes = new Map<number, Outcome>()
  for (const [line, error] of errors) outcomes.set(line, { status: 'failed', error })
  for (const [index, error] of failed) outcomes.set(readable[index]?.line ?? 0, { status: 'failed', error })
  for (const round of splitRounds(valid)) {
    for (const [{ indexes }, outcome] of await storeRound(tx, round, { ...options, source: 'import' }))
      for (const index of indexes) outcomes.set(readable[index]?.line ?? 0, outcome)
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
