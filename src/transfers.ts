import { exportAuditEvents } from './features/audit-events/export-audit-events.ts'
import { AuditEventFilters } from './features/audit-events/schema.ts'
import { exportRecipients } from './features/broadcasts/report/export-recipients.ts'
import { IMPORT_BYTES_MAX, importFile } from './features/contact-import/import-contacts.ts'
import { exportContacts, ExportContacts } from './features/contacts/export-contacts.ts'
import { ImportQuery } from './features/contact-import/schema.ts'
import { exportRejects, exportResults } from './features/jobs/export-items.ts'
import { uploadMedia } from './features/media/changes.ts'
import { MEDIA_BYTES_MAX } from './features/media/store-media.ts'
import { parseQuery } from './http/rest.ts'
import { InvalidError } from './platform/errors.ts'
import type { DownloadRoute } from './http/download-routes.ts'
import type { UploadRoute } from './http/upload-routes.ts'

const EXPORT_TYPES = ['text/csv', 'application/x-ndjson'] as const

/** Answers of many lines, which are no procedures. */
export const DOWNLOADS: readonly DownloadRoute[] = [
  {
    path: '/api/audit-events',
    action: 'auditEvents.export',
    role: 'admin',
    scope: 'audit-events:read',
    isAlternative: true,
    open: async (scope, { querystring }) => ({
      type: 'application/x-ndjson',
      filename: 'audit-events.ndjson',
      lines: exportAuditEvents(scope, parseQuery(querystring, AuditEventFilters)),
    }),
  },
  {
    path: '/api/broadcasts/{broadcastId}/recipients.csv',
    action: 'broadcasts.exportRecipients',
    scope: 'broadcasts:read',
    open: async (scope, { params, querystring }) => ({
      type: 'text/csv',
      filename: 'recipients.csv',
      lines: await exportRecipients(scope, {
        broadcastId: params['broadcastId'] ?? '',
        status: new URLSearchParams(querystring).get('status'),
      }),
    }),
  },
  {
    path: '/api/contacts/export',
    action: 'contacts.export',
    scope: 'contacts:read',
    async open(scope, { querystring, accepts }) {
      const type = EXPORT_TYPES.find((known) => known === accepts([...EXPORT_TYPES]))
      if (!type) throw new InvalidError(`Accept must be ${EXPORT_TYPES.join(' or ')}`)
      const filter = parseQuery(querystring, ExportContacts)
      const filename = type === 'text/csv' ? 'contacts.csv' : 'contacts.ndjson'
      return { type, filename, lines: exportContacts(scope, { type, filter }) }
    },
  },
  {
    path: '/api/jobs/{jobId}/results',
    action: 'jobs.exportResults',
    scope: 'jobs:read',
    open: async (scope, { params }) => ({
      type: 'application/x-ndjson',
      filename: 'results.ndjson',
      lines: await exportResults(scope, { jobId: params['jobId'] ?? '' }),
    }),
  },
  {
    path: '/api/jobs/{jobId}/rejects.csv',
    action: 'jobs.exportRejects',
    scope: 'jobs:read',
    open: async (scope, { params }) => ({
      type: 'text/csv',
      filename: 'rejects.csv',
      lines: await exportRejects(scope, { jobId: params['jobId'] ?? '' }),
    }),
  },
]

/** Bodies that are files, which are no procedures. */
export const UPLOADS: readonly UploadRoute[] = [
  {
    path: '/api/media',
    scope: 'media:write',
    bytesMax: MEDIA_BYTES_MAX,
    async receive(scope, stream, { querystring, bytes }) {
      const { media, isNew } = await uploadMedia(scope, stream, {
        filename: new URLSearchParams(querystring).get('filename'),
        bytes,
      })
      return { status: isNew ? 201 : 200, body: media }
    },
  },
  {
    path: '/api/contacts/import',
    action: 'contacts.import',
    scope: 'contacts:write',
    type: 'text/csv',
    bytesMax: IMPORT_BYTES_MAX,
    receive: async (scope, stream, { querystring, bytes }) => ({
      status: 202,
      body: await importFile(scope, stream, { options: parseQuery(querystring, ImportQuery), bytes }),
    }),
  },
]
