import type { Readable } from 'node:stream'
import { parse } from 'csv-parse'
import { getField } from '../fields.ts'

/** Position in a file: the byte at which a row begins, and the number of rows before it. */
export type CsvPosition = { bytes: number; row: number }

/** A row of a file, with its number, from 1, as a spreadsheet shows it. `next` is the position behind it. */
export type CsvRow = { row: number; next: CsvPosition } & (
  | { cells: string[]; problem?: never }
  /** The reason why the row cannot be read. */
  | { cells?: never; problem: string }
)

export type CsvSource = {
  delimiter: string
  /** Opens the file, which is UTF-8, from a byte on. */
  open: (start: number) => Promise<Readable>
}

/** A row that is longer is not read. A quote that is never closed makes a row of all that follows. */
const ROW_CHARS_MAX = 64 * 1024
/** Each row that cannot be read costs another look at what follows it. */
const PROBLEMS_MAX = 100

/** The file has too many rows that cannot be read to be CSV. */
export class CsvMalformedError extends Error {
  override name = 'CsvMalformedError'
}

/**
 * Reads the rows behind a position, as fast as they are taken. A row that cannot be read is reported, and the reading goes
 * on in the line after its first one. Rows without content are counted and left out.
 * @throws CsvMalformedError, or the error of the file
 */
export async function* readCsv(source: CsvSource, start: CsvPosition): AsyncGenerator<CsvRow> {
  let position = start
  for (let problems = 0; ; problems += 1) {
    if (problems > PROBLEMS_MAX)
      throw new CsvMalformedError(`More than ${PROBLEMS_MAX} rows have a quote that is not closed, or are too long`)
    let problem: string | undefined
    for await (const rows of parseFrom(source, position)) {
      if (typeof rows === 'string') problem = rows
      else for (const row of rows) if (row.cells?.some((cell) => cell !== '')) yield row
      position = typeof rows === 'string' ? position : (rows.at(-1)?.next ?? position)
    }
    if (problem === undefined) return
    const next = { bytes: await findNextLine(source, position.bytes), row: position.row + 1 }
    yield { row: next.row, next, problem }
    position = next
  }
}

/** Parses the file chunk by chunk. The last item is a text if a row cannot be read: why. */
async function* parseFrom({ delimiter, open }: CsvSource, start: CsvPosition): AsyncGenerator<CsvRow[] | string> {
  let rows: CsvRow[] = []
  let { row } = start
  // Nothing is left in the parser: it would drop the rows before one that cannot be read.
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_quotes: true,
    relax_column_count: true,
    max_record_size: ROW_CHARS_MAX,
    on_record: (cells: string[], { bytes }) => {
      row += 1
      rows.push({ row, cells, next: { bytes: start.bytes + bytes, row } })
      return null
    },
  })
  parser.on('error', () => undefined)
  const take = () => rows.splice(0)
  for await (const chunk of await open(start.bytes)) {
    const error = await new Promise<unknown>((resolve) => parser.write(chunk, resolve))
    yield take()
    if (error) return yield describe(error)
  }
  const error = await new Promise<unknown>((resolve) => parser.end(resolve))
  yield take()
  if (error) yield describe(error)
}

/** @throws the error unless it is about a row */
function describe(error: unknown): string {
  const code: unknown = getField(error, 'code')
  if (code === 'CSV_MAX_RECORD_SIZE')
    return `The row has more than ${ROW_CHARS_MAX} characters, or a quote that is not closed`
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'The row has a quote that is not closed'
  throw error
}

const CR = 13
const LF = 10

/** Finds the beginning of the next line, or the end of the file. */
async function findNextLine({ open }: CsvSource, start: number): Promise<number> {
  let bytes = start
  let hasReturn = false
  for await (const chunk of await open(start)) {
    const buffer: Buffer = chunk
    for (const byte of buffer) {
      if (hasReturn) return byte === LF ? bytes + 1 : bytes
      bytes += 1
      if (byte === LF) return bytes
      hasReturn = byte === CR
    }
  }
  return bytes
}

/** Returns the delimiter that the first line has most of, outside of quotes. */
export function detectDelimiter(text: string): string {
  const line = text.replaceAll(/"[^"]*"/g, '').split(/[\r\n]/, 1)[0] ?? ''
  const count = (delimiter: string) => line.split(delimiter).length - 1
  return [',', ';', '\t'].reduce((best, delimiter) => (count(delimiter) > count(best) ? delimiter : best))
}
