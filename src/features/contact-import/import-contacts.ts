import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline, type Readable } from 'node:stream'
import { type CsvSource, CsvMalformedError, detectDelimiter, readCsv } from '../../platform/csv/read-csv.ts'
import { detectEncoding, type Encoding, toUtf8 } from '../../platform/csv/decode-text.ts'
import { AppError, NotFoundError, TooLargeError } from '../../platform/errors.ts'
import { FileMissingError } from '../../platform/files/file-store.ts'
import { receiveFile, type ReceivedFile } from '../../platform/files/receive-file.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { createJob, findJob } from '../jobs/create-job.ts'
import { toUploadError } from '../media/changes.ts'
import { discardWrite, finishWrite, startWrite } from '../media/media-writes.ts'
import { findMedia } from '../media/queries.ts'
import { csvError, mapColumns } from './columns.ts'
import type { ImportContacts, ImportedJob, ImportInput, ImportOptions } from './schema.ts'

export const IMPORT_BYTES_MAX = 50 * 1024 * 1024
const ROWS_MAX = 100_000
/** The same with the rows without content. */
const ALL_ROWS_MAX = 2 * ROWS_MAX
/** A character of UTF-16 or Windows-1252 has at most three bytes as UTF-8. */
const GROWTH_MAX = 3

/** Imports an uploaded file. @throws NotFoundError, and what `importFile` throws */
export async function importMedia(scope: Scope, { mediaId, ...options }: ImportContacts): Promise<ImportedJob> {
  const { key } = await findMedia(scope, mediaId)
  const stream = await scope.files.open(key).catch((error: unknown) => {
    throw error instanceof FileMissingError ? new NotFoundError('Media') : error
  })
  return importFile(scope, stream, { options })
}

/**
 * Checks a file as a whole, stores it, and creates the job that imports its rows. The same file with the same options has
 * one job, as long as that is kept and has neither failed nor been canceled, unless `again` asks for another.
 * @throws InvalidError `csv_invalid`; TooLargeError `too_many_rows`; TransportError if the file is too large; ConflictError
 * `too_many_jobs`; UnavailableError when the disk is almost full
 */
export async function importFile(
  scope: Scope,
  stream: Readable,
  { options, bytes }: { options: ImportOptions; bytes?: number },
): Promise<ImportedJob> {
  const { folder, disk } = scope.uploads
  try {
    return await receiveFile(stream, { folder, disk, bytes, bytesMax: IMPORT_BYTES_MAX }, async (file) => {
      const { again, ...identity } = options
      const digest = createHash('sha256')
        .update(`${file.sha256} ${JSON.stringify(identity)}`)
        .digest()
      const existing = again ? undefined : await findJob(scope, digest)
      if (existing) return { ...existing, repeated: true }
      const { encoding, hasMark } = await detectEncoding(file.path)
      if (encoding === 'utf-8' && !hasMark) return await storeFile(scope, file, { options, digest, encoding })
      const text = toUtf8(encoding)
      // An error of the file ends the reading of the text.
      pipeline(createReadStream(file.path), text, () => undefined)
      return receiveFile(text, { folder, disk, bytesMax: IMPORT_BYTES_MAX * GROWTH_MAX }, (converted) =>
        storeFile(scope, converted, { options, digest, encoding }),
      )
    })
  } catch (error) {
    throw toUploadError(error, 'A file to import may have at most 50 MB. Split it')
  }
}

type Details = { options: ImportOptions; digest: Buffer; encoding: Encoding }

/** The file is in the store before its job exists; what a crash leaves in between is purged. */
async function storeFile(
  scope: Scope,
  file: ReceivedFile,
  { options, digest, encoding }: Details,
): Promise<ImportedJob> {
  const { total, ...format } = await survey(file.path, options)
  const { mode, matchBy, startWorkflows, dryRun, again } = options
  const input: ImportInput = { mode, matchBy, startWorkflows, dryRun, encoding, ...format }
  const id = newId()
  const write = await startWrite(scope, id)
  try {
    await scope.files.put(write.key, file.path, file)
    const { job, isNew } = await scope.transaction(async (tx) => {
      const created = await createJob(tx, { id, type: 'contacts_import', input, total, digest, again, hasFile: true })
      if (created.isNew) await finishWrite(tx, write)
      return created
    })
    if (!isNew) await discardWrite(scope, write)
    return { ...job, repeated: !isNew }
  } catch (error) {
    // Another error leaves the file to the purge: the job may have been committed although its response was lost.
    if (error instanceof AppError) await discardWrite(scope, write)
    throw error
  }
}

const SAMPLE_BYTES = 64 * 1024

/** Finds the form of a file and counts its rows. @throws InvalidError, TooLargeError */
async function survey(
  path: string,
  options: ImportOptions,
): Promise<Pick<ImportInput, 'delimiter' | 'columns'> & { total: number }> {
  const delimiter = detectDelimiter(await readStart(path))
  const source: CsvSource = { delimiter, open: async (start) => createReadStream(path, { start }) }
  let columns: ImportInput['columns'] | undefined
  let total = 0
  try {
    for await (const { row, cells, problem } of readCsv(source, { bytes: 0, row: 0 })) {
      if (row > ALL_ROWS_MAX)
        throw new TooLargeError(
          'too_many_rows',
          `The file has more than ${ALL_ROWS_MAX} rows, of which many are empty. Remove those`,
        )
      if (cells?.length === 0) continue
      if (row === 1) {
        if (!cells) throw csvError(`The first row has to name the columns. ${problem}`)
        columns = mapColumns(cells, options)
      } else if (!columns) throw csvError('The first row has to name the columns, and it is empty')
      else total += 1
      if (total > ROWS_MAX)
        throw new TooLargeError('too_many_rows', `The file has more than ${ROWS_MAX} rows. Split it`)
    }
  } catch (error) {
    throw error instanceof CsvMalformedError ? csvError(error.message) : error
  }
  if (!columns || total === 0) throw csvError('The file has no rows below the one that names the columns')
  return { delimiter, columns, total }
}

async function readStart(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
