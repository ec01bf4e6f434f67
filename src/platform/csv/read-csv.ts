import { setImmediate } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import { parse } from 'csv-parse'
import { getField } from '../fields.ts'

/** Position in a file: the byte at which a row begins, and the number of rows before it. */
export type CsvPosition = { bytes: number; row: number }

/**
 * A row of a file, with its number, from 1, as a spreadsheet shows it. `next` is the position behind it. A row without
 * content has no cells.
 */
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
const CELLS_MAX = 1000
/**
 * The parser counts neither empty cells nor quotes as characters. Where a row of so many bytes has not ended, the parsing
 * is given up, so that a row of nothing but delimiters takes no memory without end.
 */
const ROW_BYTES_MAX = 512 * 1024
const TOO_LONG = `The row has more than ${ROW_CHARS_MAX} characters, or a quote that is not closed`
/** A blank row costs 50 microseconds, in which nothing else is done. */
const SLICE_BYTES = 1024
/** Each row that cannot be read costs another look at what follows it. */
const PROBLEMS_MAX = 100

/** The file has too many rows that cannot be read to be CSV. */
export class CsvMalformedError extends Error {
  override name = 'CsvMalformedError'
}

/**
 * Reads the rows behind a position, as fast as they are taken. A row that cannot be read is reported, and the reading goes
 * on in the line after its first one.
 * @throws CsvMalformedError, or the error of the file
 */
export async function* readCsv(source: CsvSource, start: CsvPosition): AsyncGenerator<CsvRow> {
  let position = start
  for (let problems = 1; ; problems += 1) {
    let problem: string | undefined
    for await (const rows of parseFrom(source, position)) {
      if (typeof rows === 'string') problem = rows
      else yield* rows
      position = typeof rows === 'string' ? position : (rows.at(-1)?.next ?? position)
    }
    if (problem === undefined) return
    if (problems > PROBLEMS_MAX)
      throw new CsvMalformedError(`More than ${PROBLEMS_MAX} rows have a quote that is not closed, or are too long`)
    const { bytes, isEnd } = await findNextLine(source, position.bytes)
    position = { bytes, row: position.row + 1 }
    yield { row: position.row, next: position, problem }
    // A store has no part of a file from its end on.
    if (isEnd) return
  }
}

/** Parses the file chunk by chunk. The last item is a text if a row cannot be read: why. */
async function* parseFrom({ delimiter, open }: CsvSource, start: CsvPosition): AsyncGenerator<CsvRow[] | string> {
  let rows: CsvRow[] = []
  let { row } = start
  let length = 0
  let end = 0
  // Nothing is left in the parser: it would drop the rows before one that cannot be read.
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_quotes: true,
    relax_column_count: true,
    max_record_size: ROW_CHARS_MAX,
    on_record: (cells: string[], { bytes }) => {
      row += 1
      end = bytes
      rows.push({ row, next: { bytes: start.bytes + bytes, row }, ...toContent(cells) })
      return null
    },
  })
  parser.on('error', () => undefined)
  const take = () => rows.splice(0)
  for await (const chunk of await open(start.bytes)) {
    for (let from = 0; from < chunk.length; from += SLICE_BYTES) {
      const slice = chunk.subarray(from, from + SLICE_BYTES)
      const error = await new Promise<unknown>((resolve) => parser.write(slice, resolve))
      length += slice.length
      yield take()
      if (error) return yield describe(error)
      if (length - end > ROW_BYTES_MAX) return yield TOO_LONG
      await setImmediate()
    }
  }
  const error = await new Promise<unknown>((resolve) => parser.end(resolve))
  yield take()
  if (error) yield describe(error)
}

function toContent(cells: string[]): { cells: string[] } | { problem: string } {
  if (cells.length > CELLS_MAX) return { problem: `The row has more than ${CELLS_MAX} cells` }
  return { cells: cells.some((cell) => cell !== '') ? cells : [] }
}

/** @throws the error unless it is about a row */
function describe(error: unknown): string {
  const code: unknown = getField(error, 'code')
  if (code === 'CSV_MAX_RECORD_SIZE') return TOO_LONG
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'The row has a quote that is not closed'
  throw error
}

const CR = 13
const LF = 10

/** Finds the beginning of the next line, or the end of the file if there is none. */
async function findNextLine({ open }: CsvSource, start: number): Promise<{ bytes: number; isEnd: boolean }> {
  let bytes = start
  let previous: number | undefined
  for await (const chunk of await open(start)) {
    const buffer: Buffer = chunk
    for (const byte of buffer) {
      if (previous === LF || (previous === CR && byte !== LF)) return { bytes, isEnd: false }
      bytes += 1
      previous = byte
    }
  }
  return { bytes, isEnd: true }
}

/** Returns the delimiter that the first line has most of, outside of quotes. */
export function detectDelimiter(text: string): string {
  const line = text.replaceAll(/"[^"]*"/g, '').split(/[\r\n]/, 1)[0] ?? ''
  const count = (delimiter: string) => line.split(delimiter).length - 1
  return [',', ';', '\t'].reduce((best, delimiter) => (count(delimiter) > count(best) ? delimiter : best))
}
