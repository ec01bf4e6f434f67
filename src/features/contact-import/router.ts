import { agentProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { importMedia } from './import-contacts.ts'
import { ImportContacts, ImportedJob } from './schema.ts'

const IMPORT = {
  status: 202,
  description:
    'Creates a job that creates and changes a contact for each row of a CSV file: `GET /api/jobs/{jobId}` has its progress, `/results` the result of each row and `/rejects.csv` the rows that failed. The first row names the columns. Send the file as the body, with `Content-Type: text/csv` and the options in the query, where `mapping` is JSON; or upload it and name it as `mediaId`. The encoding is UTF-8, UTF-16 with a byte order mark, or Windows-1252; cells are separated by commas, semicolons or tabs. The same file with the same options has one job for 30 days, unless it fails or is canceled: the answer is then that job with `repeated`, and `again` imports the file once more. At most 50 MB, 100,000 rows (200,000 with empty ones), 200 columns, 1,000 cells and 65,536 characters of a row and 10,000 of a cell, and 20 jobs of a workspace that have not ended.',
} as const

/** Procedure of the namespace `contacts`. */
export const contactImportRouter = router({
  import: agentProcedure
    .meta(rest('POST', '/contacts/import', 'Import contacts', IMPORT))
    .input(ImportContacts)
    .output(ImportedJob)
    .mutation(async ({ ctx, input }) => {
      const release = ctx.takeUpload(ctx.caller, ctx.scope.tenantId)
      try {
        return await importMedia(ctx.scope, input)
      } finally {
        release()
      }
    }),
})
