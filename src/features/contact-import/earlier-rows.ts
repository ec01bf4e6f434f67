import type { Job as JobRow } from '../../models/jobs.ts'
import type { CsvPosition } from '../../platform/csv/read-csv.ts'
import { TooLargeError } from '../../platform/errors.ts'
import { toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import { addItem, type Person, type readItems } from '../contacts/bulk/persons.ts'
import type { MatchBy } from '../contacts/bulk/schema.ts'
import type { Portion } from '../jobs/job-kind.ts'

/** Characters, as JSON, of the persons that a dry run remembers at a time. */
const CHARS_MAX = 16 * 1024 * 1024

/** A row of a dry run. `earlier` are the persons that it may be about, as earlier portions would have left them. */
export type EarlierLine = { line: number; earlier?: Person[] }

/** A row that can be read. `index` is its line. */
type Valid = ReturnType<typeof readItems>['valid'][number]

type Reading<Line> = {
  start: CsvPosition
  matchBy: MatchBy
  readFrom: (position: CsvPosition) => AsyncIterable<Portion<Line>>
  toValid: (lines: Line[]) => Valid[]
}

/**
 * Reads the portions of a dry run, whose effects are rolled back portion by portion. Rows of persons who are in an earlier
 * portion, too, get what that has done, so that the results are those of an import.
 * @throws TooLargeError `dry_run_too_large`
 */
export async function* withEarlier<Line extends EarlierLine>(
  scope: Scope,
  job: JobRow,
  reading: Reading<Line>,
): AsyncGenerator<Portion<Line> | undefined> {
  const { start, matchBy, readFrom, toValid } = reading
  const earlier = new EarlierRows(yield* findRepeated(reading), matchBy)
  const learn = async (lines: Line[], rows: Valid[]) => {
    const last = lines.at(-1)?.line ?? 0
    const repeated = rows.filter((valid) => earlier.isNeeded(valid, last))
    const stored = await listStored(scope, job, repeated)
    for (const valid of repeated) if (stored.has(valid.index)) earlier.add(valid)
    earlier.forget(last)
  }
  if (start.row > 0) {
    for await (const { lines, cursor } of readFrom({ bytes: 0, row: 0 })) {
      if (Number(cursor['row']) > start.row) break
      await learn(lines, toValid(lines))
      yield undefined
    }
  }
  for await (const portion of readFrom(start)) {
    const rows = toValid(portion.lines)
    const found = earlier.find(rows)
    const lines = portion.lines.map((line) => ({ ...line, earlier: found.get(line.line) ?? [] }))
    yield { ...portion, lines }
    await learn(portion.lines, rows)
  }
}

/** Returns the last line of each identity that several rows of the file have. */
async function* findRepeated<Line>({
  matchBy,
  readFrom,
  toValid,
}: Reading<Line>): AsyncGenerator<undefined, Map<string, number>> {
  const seen = new Set<string>()
  const last = new Map<string, number>()
  for await (const { lines } of readFrom({ bytes: 0, row: 0 })) {
    for (const { item, index } of toValid(lines)) {
      for (const identity of listIdentities(item, matchBy)) {
        if (seen.has(identity)) last.set(identity, index)
        else seen.add(identity)
      }
    }
    yield undefined
  }
  return last
}

/** Finds those of the rows that would have created or changed a contact. */
async function listStored(scope: Scope, { id }: JobRow, rows: Valid[]): Promise<Set<number>> {
  if (rows.length === 0) return new Set()
  const stored = await scope.sql<{ line: number }>('listStoredLines')`
    select line from job_items where tenant_id = ${scope.tenantId} and job_id = ${id}
      and line = any(${rows.map(({ index }) => index)}::int[]) and status in ('created', 'updated')`
  return new Set(stored.map(({ line }) => line))
}

/** Returns what makes two rows be about one person, or compete for a value that is unique. */
function listIdentities({ phone, externalId, email }: Valid['item'], matchBy: MatchBy): string[] {
  return [
    ...(phone === undefined ? [] : [`phone ${toPhoneKey(phone)}`]),
    ...(externalId ? [`externalId ${externalId}`] : []),
    ...(email && matchBy === 'email' ? [`email ${email.toLowerCase()}`] : []),
  ]
}

/** The persons of earlier portions whom later rows name. */
class EarlierRows {
  readonly #lastLines: ReadonlyMap<string, number>
  readonly #matchBy: MatchBy
  readonly #persons = new Map<string, { person: Person; chars: number }>()
  /** The keys of persons by their identities. */
  readonly #keys = new Map<string, Set<string>>()
  #chars = 0

  constructor(lastLines: ReadonlyMap<string, number>, matchBy: MatchBy) {
    this.#lastLines = lastLines
    this.#matchBy = matchBy
  }

  /** Returns true for a row of a person whom a row behind a line may name. */
  isNeeded({ key, item }: Valid, line: number): boolean {
    return this.#persons.has(key) || listIdentities(item, this.#matchBy).some((each) => this.#isNamed(each, line))
  }

  add(valid: Valid): void {
    const { key, item } = valid
    const chars = JSON.stringify(item).length
    this.#chars += chars
    if (this.#chars > CHARS_MAX) {
      const message = 'Too many rows of the file are about the same contacts for a dry run. Split the file'
      throw new TooLargeError('dry_run_too_large', message)
    }
    const known = this.#persons.get(key)
    const persons = new Map(known ? [[key, known.person]] : [])
    const person = addItem(persons, valid)
    this.#persons.set(key, { person, chars: chars + (known?.chars ?? 0) })
    for (const identity of listIdentities(item, this.#matchBy))
      this.#keys.set(identity, (this.#keys.get(identity) ?? new Set()).add(key))
  }

  /** Finds the persons of rows, each for the first of these. */
  find(rows: Valid[]): Map<number, Person[]> {
    const found = new Set<string>()
    return new Map(
      rows.map(({ item, index }) => {
        const persons: Person[] = []
        for (const identity of listIdentities(item, this.#matchBy)) {
          for (const key of this.#keys.get(identity) ?? []) {
            const known = this.#persons.get(key)
            if (known && !found.has(key)) persons.push(known.person)
            found.add(key)
          }
        }
        return [index, persons]
      }),
    )
  }

  /** Forgets the persons whom no row behind a line names. */
  forget(line: number): void {
    for (const identity of this.#keys.keys()) if (!this.#isNamed(identity, line)) this.#keys.delete(identity)
    const needed = new Set([...this.#keys.values()].flatMap((keys) => [...keys]))
    for (const [key, { chars }] of this.#persons) {
      if (needed.has(key)) continue
      this.#persons.delete(key)
      this.#chars -= chars
    }
  }

  #isNamed(identity: string, line: number): boolean {
    return (this.#lastLines.get(identity) ?? 0) > line
  }
}
