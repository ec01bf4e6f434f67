import { z } from 'zod'

/** The first line of an export. */
export const Header = z.object({ parleyExport: z.literal(1), migrations: z.array(z.string()) })
/** The line before the rows of a table, which are in the text format of `copy`, and end with a line `\.`. */
export const TableLine = z.object({ table: z.string(), columns: z.array(z.string()) })
/** The last line, with the number of rows of each table: without it the export is incomplete. */
export const Footer = z.object({ rows: z.record(z.string(), z.number()) })

export const END_OF_ROWS = Buffer.from('\\.\n')

/** Tables about the database or its present processes, which every database has of its own. */
export const OWN_TABLES: readonly string[] = [
  'migrations',
  'migrations_lock',
  'rate_limits',
  'readiness_probes',
  'wakeups',
]

export type Progress = (table: string, rows: number) => void

/** The export or the database is not as it has to be. The message tells the operator what to do. */
export class TransferError extends Error {
  override name = 'TransferError'
}
