import type { Readable } from 'node:stream'
import { z } from 'zod'

/** The first line of an export. `workspaceId` is in that of one workspace. */
export const Header = z.object({
  parleyExport: z.literal(1),
  migrations: z.array(z.string()),
  workspaceId: z.uuid().optional(),
})
/** The line before the rows of a table, which are in the text format of `copy`, and end with a line `\.`. */
export const TableLine = z.object({ table: z.string(), columns: z.array(z.string()) })
/** The last line, with the number of rows of each table: without it the export is incomplete. */
export const Footer = z.object({ rows: z.record(z.string(), z.number()) })

export const END_OF_ROWS = Buffer.from('\\.\n')

/** Tables about the database or its present processes, which every database has of its own. */
export const OWN_TABLES: readonly string[] = [
  'migrations',
  'migrations_lock',
  'periodic_tasks',
  'rate_limits',
  'readiness_probes',
  'wakeups',
]

export type Progress = (table: string, rows: number) => void

const LINE_FEED = 10
const LINE_BYTES_MAX = 1_000_000

/** The export or the database is not as it has to be. The message tells the operator what to do. */
export class TransferError extends Error {
  override name = 'TransferError'
}

/** Reads the lines and the rows of an export, of which it holds a few chunks in memory. */
export class ExportReader {
  readonly #chunks: AsyncIterator<Buffer>
  #buffer = Buffer.alloc(0)

  constructor(input: Readable) {
    this.#chunks = input[Symbol.asyncIterator]()
  }

  /** @throws TransferError if the export ends before the end of the line */
  async readLine(): Promise<unknown> {
    let end = this.#buffer.indexOf(LINE_FEED)
    while (end < 0) {
      if (this.#buffer.length > LINE_BYTES_MAX || !(await this.#readChunk())) throw incomplete()
      end = this.#buffer.indexOf(LINE_FEED)
    }
    const line = this.#take(end + 1).toString()
    try {
      return JSON.parse(line)
    } catch {
      throw incomplete()
    }
  }

  /** Returns the rows of a table in pieces. */
  async *readRows(): AsyncGenerator<Buffer> {
    let isLineStart = true
    for (;;) {
      const end = findEnd(this.#buffer, isLineStart)
      if (end >= 0) {
        if (end > 0) yield this.#take(end)
        this.#take(END_OF_ROWS.length)
        return
      }
      // The end may be divided between this chunk and the next one.
      const length = this.#buffer.length - END_OF_ROWS.length
      if (length > 0) {
        const piece = this.#take(length)
        isLineStart = piece.at(-1) === LINE_FEED
        yield piece
      }
      if (!(await this.#readChunk())) throw incomplete()
    }
  }

  #take(length: number): Buffer {
    const taken = this.#buffer.subarray(0, length)
    this.#buffer = this.#buffer.subarray(length)
    return taken
  }

  async #readChunk(): Promise<boolean> {
    // A file that is cut off or not compressed is an error of the decompression.
    const { value, done } = await this.#chunks.next().catch(() => {
      throw incomplete()
    })
    if (done) return false
    this.#buffer = Buffer.concat([this.#buffer, value])
    return true
  }
}

/** Finds the line that ends the rows. A backslash and a point within a row do not begin a line. */
function findEnd(buffer: Buffer, isLineStart: boolean): number {
  for (let at = buffer.indexOf(END_OF_ROWS); at >= 0; at = buffer.indexOf(END_OF_ROWS, at + 1)) {
    if (at === 0 ? isLineStart : buffer[at - 1] === LINE_FEED) return at
  }
  return -1
}

function incomplete(): TransferError {
  return new TransferError('The file is not a complete export of Parley. Make the export again')
}
